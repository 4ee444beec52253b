// SPDX-License-Identifier: MIT
// All that comes from a descriptor until its end or an error.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>

namespace pktmalloc {

inline std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

}  // namespace pktmalloc
