// SPDX-License-Identifier: MIT
#include "tools/command/heap/contents.h"

#include <algorithm>

#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kExample = 40;
// Strings have a few bytes of length in front, in some libraries; then more must be a text.
constexpr uint32_t kLeast = 4, kFrontMost = 5, kLeastBehindFront = 8;

bool is_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t' || byte == '\r';
}

}  // namespace

Contents contents_of(const char* bytes, uint32_t size) {
  const char* const end = bytes + size;
  if (std::all_of(bytes, end, [](char c) { return c == 0; })) return {"zeroes", ""};
  for (uint32_t front = 0; front <= std::min(kFrontMost, size); ++front) {
    const char* const begin = bytes + front;
    const char* const stop = std::find_if_not(begin, end, is_text);
    const auto length = static_cast<uint32_t>(stop - begin);
    if (length < (front == 0 ? kLeast : kLeastBehindFront) || (stop != end && *stop != 0)) continue;
    return {"text", printable(std::string(begin, std::min(length, kExample)))};
  }
  return {};
}

}  // namespace pktmalloc
