// SPDX-License-Identifier: MIT
// PlainFile: what a file holds, decompressed where it is one of zstd. The first bytes decide, not
// the name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pktmalloc {

struct PlainFile {
  std::vector<unsigned char> bytes;
  uint64_t file_bytes = 0;  // as it was read
  bool compressed = false;
  // Why no more could be decompressed, and where; "" when all was.
  std::string fault;
};

// "-" is stdin. It is read as a stream, and no further than one can see that it does not begin
// with `magic`. Throws Failure when it cannot be read.
PlainFile read_plain(const std::string& path, std::string_view magic);

}  // namespace pktmalloc
