// SPDX-License-Identifier: MIT
// Contents: what the bytes of an object say where no type does. Only of what they are sure.
#pragma once

#include <cstdint>
#include <string>

namespace pktmalloc {

struct Contents {
  const char* kind = "";  // "": nothing is sure
  std::string example;    // of a text, its beginning
};

Contents contents_of(const char* bytes, uint32_t size);

}  // namespace pktmalloc
