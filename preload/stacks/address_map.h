// SPDX-License-Identifier: MIT
// Address map: reads /proc/self/maps. Allocates nothing.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pktmalloc {

// Its lines, one after the other without their ends, until visit(line) is true; not those for which
// the room does not suffice. False if the file cannot be read.
template <typename Visit>
bool each_mapping(char* text, size_t room, const Visit& visit) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = false;
  size_t held = 0;
  for (ssize_t got; !done && (got = read(fd, text + held, room - held)) > 0;) {
    held += static_cast<size_t>(got);
    char* line = text;
    for (char* end; !done && (end = static_cast<char*>(memchr(line, '\n', held))) != nullptr;) {
      *end = '\0';
      done = visit(line);
      held -= static_cast<size_t>(end + 1 - line);
      line = end + 1;
    }
    memmove(text, line, held);
    if (held == room) held = 0;
  }
  close(fd);
  return true;
}

// Of the address space, around an address.
struct Stretch {
  uintptr_t begin, end;
  bool main_stack, readable;
};

// begin = 0: nothing is mapped there. False if the file cannot be read.
bool find_stretch(uintptr_t address, Stretch& found);

}  // namespace pktmalloc
