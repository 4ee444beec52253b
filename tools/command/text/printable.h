// SPDX-License-Identifier: MIT
// Printable: names that come from elsewhere, without what a terminal would obey.
#pragma once

#include <algorithm>
#include <string>

namespace pktmalloc {

inline std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  // In UTF-8, U+0080 to U+009F, among them one that begins a sequence as ESC [ does.
  for (size_t i = 1; i < text.size(); ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (text[i - 1] == '\xC2' && next >= 0x80 && next < 0xA0) text[i - 1] = text[i] = '?';
  }
  return text;
}

}  // namespace pktmalloc
