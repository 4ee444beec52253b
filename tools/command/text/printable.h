// SPDX-License-Identifier: MIT
// Printable: names that come from elsewhere, without what a terminal would obey.
#pragma once

#include <algorithm>
#include <string>

namespace pktmalloc {

inline std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

}  // namespace pktmalloc
