// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"

namespace pktmalloc::checked {

Object find_object(const void* p) {
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) return is_guarded(p) ? find_guarded(p) : find_large(p);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? object_in(pooled_place(id, reinterpret_cast<void*>(raw))) : Object{};
}

}  // namespace pktmalloc::checked
