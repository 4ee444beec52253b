// SPDX-License-Identifier: MIT
// Names of descriptors: the system's own symbolic links, the only ones that reports follow.
#pragma once

#include <fcntl.h>

#include <charconv>
#include <initializer_list>
#include <string_view>

namespace pktmalloc {

// The descriptor of this process that the path names; -1: none. Opened anew, a file would be
// written at another place than by those that have the descriptor, too.
inline int descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const char* const end = path.end();
    int number = -1;
    const auto [rest, error] = std::from_chars(path.begin() + folder.size(), end, number);
    if (error == std::errc{} && rest == end) return number;
  }
  return -1;
}

// Also of another process.
inline bool names_descriptor(std::string_view path) {
  return path.starts_with("/proc/") || descriptor_of(path) >= 0;
}

// For open(2): follow a link only where it is the system's own.
inline int link_flag(std::string_view path) { return names_descriptor(path) ? 0 : O_NOFOLLOW; }

}  // namespace pktmalloc
