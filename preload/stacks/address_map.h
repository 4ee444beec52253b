// SPDX-License-Identifier: MIT
// Address map: reads /proc/self/maps. Allocates nothing.
#pragma once

#include <cstdint>

namespace pktmalloc {

// Of the address space, around an address.
struct Stretch {
  uintptr_t begin, end;
  bool main_stack, readable;
};

// begin = 0: nothing is mapped there. False if the file cannot be read.
bool find_stretch(uintptr_t address, Stretch& found);

}  // namespace pktmalloc
