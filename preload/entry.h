// SPDX-License-Identifier: MIT
// Entry: the fast half of every exported function, inlined into each of them, because a call
// through the procedure linkage table costs a tenth of the whole operation.
//
//     malloc: size -> class (one byte load) -> top of the loaded magazine -> object
//     free:   address -> class (subtract, shift) -> top of the loaded magazine -> store
//
// No lock, no atomic, no call, no test of any state: what is not yet, no longer or never served
// from the thread's magazines meets the sentinel there and leaves by a tail call.
#pragma once

#include <cstddef>

#include "preload/process.h"
#include "preload/route.h"
#include "preload/thread.h"

namespace pktmalloc {

template <void* (*kSlow)(size_t)>
inline void* allocate(size_t bytes) {
  if (bytes <= ClassTable::kSmallLimit) [[likely]] {
    const ClassId id = heap.classes().small(bytes);
    if (void* p = this_thread.allocates_from->allocate(id)) [[likely]]
      return p;
  }
  return kSlow(bytes);
}

inline void release(void* p) {
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner) && this_thread.releases_to->release(static_cast<ClassId>(owner), p))
      [[likely]] {
    return;
  }
  return release_slow(p);
}

}  // namespace pktmalloc
