// SPDX-License-Identifier: MIT
// Path pattern: what the library's options take for a path, in which %p, %e and %n have a meaning.
#pragma once

#include <string>

namespace pktmalloc {

// The pattern of just this path.
inline std::string as_pattern(std::string path) {
  for (size_t at = 0; (at = path.find('%', at)) != std::string::npos; at += 2) path.insert(at, "%");
  return path;
}

}  // namespace pktmalloc
