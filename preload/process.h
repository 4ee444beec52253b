// SPDX-License-Identifier: MIT
// The life of the process: start at the first request (before any constructor if need be), threads
// that come and go, fork, exit. Everything here is cold.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/heap.h"

namespace pktmalloc {

// Hidden already where it is declared: else every access would go through the global offset table.
extern constinit Heap heap __attribute__((visibility("hidden")));

// Up to how many bytes realloc may resize an object of the class where it lies: those it has, or 0
// while every call is to be seen (observer.h).
extern constinit uint32_t in_place_bytes[kMaxClasses] __attribute__((visibility("hidden")));

// Would realloc resize an object of the class `owner` where it lies? While the request still fills
// half of it, or would get the same class again.
inline bool resizes_in_place(uintptr_t owner, size_t bytes) {
  const size_t most = in_place_bytes[owner];
  return bytes <= most && (bytes * 2 >= most || index(heap.classes().find(bytes)) == owner);
}

// Starts the process if nobody has, and gives the calling thread a cache; nullptr when it must work
// on the slabs directly.
Cache* enter_thread();

// Has the calling thread, which has no cache, run its destructors? Nobody would give back one that
// was made for it now.
bool past_destructors();

// Not in the child of vfork, which works in its parent's memory.
bool in_own_memory();

// Forks that this process descends from, counted from where the library was loaded.
const std::atomic<uint64_t>& fork_count();

}  // namespace pktmalloc
