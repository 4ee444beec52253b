// SPDX-License-Identifier: MIT
// Lookup: the object of any pointer. In the pool the address says where the object's memory begins,
// and where its record is: in place of a state (sizeclass/slabs/object_states.h); elsewhere tables
// do.
#pragma once

#include "preload/checked/object.h"
#include "preload/process/heap.h"

namespace pktmalloc::checked {

// In the pool records are found by the address of the object's usual first byte.
inline Place pooled_place(ClassId id, void* raw) {
  char* const begin = static_cast<char*>(raw);
  return {&heap.state_word<Record>(id, begin + kFront), begin,
          begin + heap.classes()[id].object_bytes};
}

Object find_object_slow(const void* p);

// The object that begins at p or contains it, or whose canaries do; none: nobody's. Any thread, any
// pointer.
inline Object find_object(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner) && reinterpret_cast<uintptr_t>(p) % kFront == 0) [[likely]] {
    char* const raw = static_cast<char*>(const_cast<void*>(p)) - kFront;
    const Place place = pooled_place(static_cast<ClassId>(owner), raw);
    const Head head = place.record->head.load(std::memory_order_acquire);
    if (head.is_plain_of(reinterpret_cast<uintptr_t>(raw))) [[likely]]
      return {place.record, raw + kFront, place.end, head};
  }
  return find_object_slow(p);
}

}  // namespace pktmalloc::checked
