// SPDX-License-Identifier: MIT
// Mapping: zeroed memory for tables, straight from the system; pages come at first touch.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace pktmalloc {

// nullptr if the system refuses.
inline void* map_lazily(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace pktmalloc
