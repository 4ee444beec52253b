// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"

namespace pktmalloc::checked {

Object find_object_slow(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return is_guarded(p) ? find_guarded(p) : find_large(p);
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? object_in(pooled_place(id, reinterpret_cast<void*>(raw))) : Object{};
}

}  // namespace pktmalloc::checked
