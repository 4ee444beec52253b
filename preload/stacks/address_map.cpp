// SPDX-License-Identifier: MIT
#include "preload/stacks/address_map.h"

#include <cstdlib>

namespace pktmalloc {

bool find_stretch(uintptr_t address, Stretch& found) {
  found = {};
  char text[2048];  // a longer line has a path that nobody needs
  return each_mapping(text, sizeof text, [&](const char* line) {
    char* rest;
    const uintptr_t begin = strtoull(line, &rest, 16);
    const uintptr_t end = strtoull(rest + 1, &rest, 16);
    if (address - begin >= end - begin) return false;
    found = {begin, end, strstr(line, "[stack]") != nullptr, rest[1] == 'r'};
    return true;
  });
}

}  // namespace pktmalloc
