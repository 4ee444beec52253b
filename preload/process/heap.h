// SPDX-License-Identifier: MIT
// The process's one heap, and when realloc may resize an object in place.
#pragma once

#include "sizeclass/heap/heap.h"

namespace pktmalloc {

// Hidden already at its declaration: otherwise every access would use the global offset table.
extern constinit Heap heap __attribute__((visibility("hidden")));

// The most bytes to which realloc may resize an object of the class in place: its size, or 0 while
// every call must be seen.
extern constinit uint32_t in_place_bytes[kMaxClasses] __attribute__((visibility("hidden")));

// Sets them all. Any thread.
void allow_resize_in_place(bool allowed);

// Would realloc resize an object of the class `owner` in place? Yes if the request fills half of
// it, or would get the same class again.
inline bool resizes_in_place(uintptr_t owner, size_t bytes) {
  const size_t most = in_place_bytes[owner];
  return bytes <= most && (bytes * 2 >= most || index(heap.classes().find(bytes)) == owner);
}

}  // namespace pktmalloc
