// SPDX-License-Identifier: MIT
// Batch: what the thread's magazines can serve of many objects at once, by a copy.
//
//     allocate_run: from the top down, until the mark for "empty"
//     release_run:  onto the top, until the mark for "full", an object of another unit, or the
//                   one before once more
//
// The marks are those that single calls meet, so a thread that is traced, watched or sampled serves
// a run of none or stops at its sample. A run goes on with the thread's other magazine. After it
// the caller makes a single call, and goes on with a run.
#pragma once

#include "preload/process/heap.h"
#include "preload/process/thread.h"

namespace pktmalloc {

// What the classes are asked for on behalf of a request of so many bytes.
inline size_t room_for(size_t bytes) { return bytes; }

// Both return how many of the objects were served, the first ones.
inline size_t allocate_run(size_t bytes, void** objects, size_t count) {
  Cache& cache = *this_thread.allocates_from;
  const ClassId id = heap.classes().find(bytes);
  const size_t n = cache.allocate_run(id, objects, count);
  if (n == count || !heap.turn(cache, id, 0)) return n;
  return n + cache.allocate_run(id, objects + n, count - n);
}

// count > 0.
inline size_t release_run(void* const* objects, size_t count) {
  const uintptr_t owner = heap.owner(*objects);
  if (!Heap::is_class(owner)) return 0;
  Cache& cache = *this_thread.releases_to;
  const ClassId id = static_cast<ClassId>(owner);
  constexpr unsigned shift = SlabPool::kUnitShift;
  const size_t n = cache.release_run(id, objects, count, shift);
  if (n == count) return n;
  const auto address = [=](size_t i) { return reinterpret_cast<uintptr_t>(objects[i]); };
  if ((address(n) ^ address(0)) >> shift != 0 || !heap.turn(cache, id, address(n))) return n;
  return n + cache.release_run(id, objects + n, count - n, shift);
}

}  // namespace pktmalloc
