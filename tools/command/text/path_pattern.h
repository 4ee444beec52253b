// SPDX-License-Identifier: MIT
// Path pattern: what the library's options take for a path, in which %p, %e and %n have a meaning.
#pragma once

#include <filesystem>
#include <string>

namespace pktmalloc {

// The pattern of just this path.
inline std::string as_pattern(std::string path) {
  for (size_t at = 0; (at = path.find('%', at)) != std::string::npos; at += 2) path.insert(at, "%");
  return path;
}

// The same pattern for a process with another folder.
inline std::string absolute_pattern(const std::string& pattern) {
  namespace fs = std::filesystem;
  return fs::path(pattern).is_absolute() ? pattern : as_pattern(fs::current_path()) + "/" + pattern;
}

}  // namespace pktmalloc
