// SPDX-License-Identifier: MIT
// Lookup: the object of any pointer. In the pool the address says where the object's memory begins,
// and where its record is: in place of a state (sizeclass/slabs/object_states.h); elsewhere tables
// do.
#pragma once

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/object.h"
#include "preload/process/heap.h"

namespace pktmalloc::checked {

// In the pool records are found by the address of the object's usual first byte.
inline Place pooled_place(ClassId id, void* raw) {
  char* const begin = static_cast<char*>(raw);
  return {&heap.state_word<Record>(id, begin + kFront), begin,
          begin + heap.classes()[id].object_bytes};
}

// The object that begins at p or contains it, or whose canaries do; none: nobody's. Any thread, any
// pointer.
inline Object find_object(const void* p) {
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) return is_guarded(p) ? find_guarded(p) : find_large(p);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? object_in(pooled_place(id, reinterpret_cast<void*>(raw))) : Object{};
}

}  // namespace pktmalloc::checked
