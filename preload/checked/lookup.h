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

// The object that begins at p or contains it, or whose canaries do; none: nobody's. Any thread, any
// pointer.
Object find_object(const void* p);

}  // namespace pktmalloc::checked
