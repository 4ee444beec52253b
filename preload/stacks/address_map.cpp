// SPDX-License-Identifier: MIT
#include "preload/stacks/address_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace pktmalloc {

bool find_stretch(uintptr_t address, Stretch& found) {
  found = {};
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[2048];  // a longer line has a path that nobody needs
  size_t held = 0;
  for (ssize_t got; found.end == 0 && (got = read(fd, text + held, sizeof text - held)) > 0;) {
    held += static_cast<size_t>(got);
    char* line = text;
    while (char* const behind = static_cast<char*>(memchr(line, '\n', held))) {
      *behind = '\0';
      char* rest;
      const uintptr_t begin = strtoull(line, &rest, 16);
      const uintptr_t end = strtoull(rest + 1, &rest, 16);
      if (address - begin < end - begin) {
        found = {begin, end, strstr(line, "[stack]") != nullptr, rest[1] == 'r'};
      }
      held -= static_cast<size_t>(behind + 1 - line);
      line = behind + 1;
    }
    memmove(text, line, held);
    if (held == sizeof text) held = 0;
  }
  close(fd);
  return true;
}

}  // namespace pktmalloc
