// SPDX-License-Identifier: MIT
// Address map: which stretch of the address space an address lies in, as /proc/self/maps says.
// Allocates nothing.
#pragma once

#include <cstdint>

namespace pktmalloc {

struct Stretch {
  uintptr_t begin, end;
  bool main_stack, readable;
};

// begin = 0: nothing is mapped there. False if the file cannot be read.
bool find_stretch(uintptr_t address, Stretch& found);

}  // namespace pktmalloc
