// SPDX-License-Identifier: MIT
// Batch: what the thread's magazines can serve of many objects at once, by a copy.
//
//     allocate_run: from the top down, until the mark for "empty"
//     release_run:  onto the top, until the mark for "full", an object of another unit, or the
//                   one before once more
//
// The marks are those that single calls meet, so a thread that is traced, watched or sampled serves
// a run of none or stops at its sample. After it the caller makes a single call, which swaps the
// thread's two magazines if need be, and goes on with a run.
#pragma once

#include "preload/process/heap.h"
#include "preload/process/thread.h"

namespace pktmalloc {

// What the classes are asked for on behalf of a request of so many bytes.
inline size_t room_for(size_t bytes) { return bytes; }

// Both return how many of the objects were served, the first ones.
inline size_t allocate_run(size_t bytes, void** objects, size_t count) {
  return this_thread.allocates_from->allocate_run(heap.classes().find(bytes), objects, count);
}

// count > 0.
inline size_t release_run(void* const* objects, size_t count) {
  const uintptr_t owner = heap.owner(*objects);
  if (!Heap::is_class(owner)) return 0;
  return this_thread.releases_to->release_run(static_cast<ClassId>(owner), objects, count,
                                              SlabPool::kUnitShift);
}

}  // namespace pktmalloc
