// SPDX-License-Identifier: MIT
// The process's one heap, and what realloc may do with an object where it lies.
#pragma once

#include "sizeclass/heap.h"

namespace pktmalloc {

// Hidden already where it is declared: else every access would go through the global offset table.
extern constinit Heap heap __attribute__((visibility("hidden")));

// Up to how many bytes realloc may resize an object of the class where it lies: those it has, or 0
// while every call is to be seen.
extern constinit uint32_t in_place_bytes[kMaxClasses] __attribute__((visibility("hidden")));

// Would realloc resize an object of the class `owner` where it lies? While the request still fills
// half of it, or would get the same class again.
inline bool resizes_in_place(uintptr_t owner, size_t bytes) {
  const size_t most = in_place_bytes[owner];
  return bytes <= most && (bytes * 2 >= most || index(heap.classes().find(bytes)) == owner);
}

}  // namespace pktmalloc
