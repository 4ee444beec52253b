// SPDX-License-Identifier: MIT
// page_shift: of the smallest slab that may be, for areas that reach their boundaries soon. A slab
// goes back to the system by itself, so it is a page at the least.
#pragma once

#include <bit>

#include "sizeclass/memory.h"

namespace pktmalloc::test {

inline unsigned page_shift() {
  return static_cast<unsigned>(std::countr_zero(memory::page_bytes()));
}

}  // namespace pktmalloc::test
