// SPDX-License-Identifier: MIT
#include "preload/stacks/address_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace pktmalloc {

bool find_stretch(uintptr_t address, Stretch& found) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  found = {};
  char text[2048];
  size_t held = 0;
  for (ssize_t got; (got = read(fd, text + held, sizeof text - 1 - held)) > 0;) {
    held += static_cast<size_t>(got);
    text[held] = '\0';
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      char* rest;
      const uintptr_t begin = strtoull(line, &rest, 16);
      const uintptr_t stop = strtoull(rest + 1, &rest, 16);
      if (address - begin >= stop - begin) continue;
      found = {begin, stop, strstr(line, "[stack]") != nullptr, rest[1] == 'r'};
      close(fd);
      return true;
    }
    held -= static_cast<size_t>(line - text);
    memmove(text, line, held);
    if (held == sizeof text - 1) held = 0;  // such a long line has a path that nobody needs
  }
  close(fd);
  return true;
}

}  // namespace pktmalloc
