// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"

namespace pktmalloc::checked {

namespace {

// The header of an object of the pool may lie behind any pad.
Header* find_pooled(uintptr_t raw, size_t object_bytes) {
  for (size_t front = sizeof(Header); front < object_bytes; front *= 2) {
    Header* header = reinterpret_cast<Header*>(raw + front) - 1;
    if (header->sealed() && front_bytes(header->alignment()) == front) return header;
  }
  return nullptr;
}

}  // namespace

Header* find_object_slow(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) {
    Header* header = in_guarded(p) ? find_guarded(p) : find_large(p);
    return header != nullptr && header->sealed() ? header : nullptr;
  }
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? find_pooled(raw, heap.classes()[id].object_bytes) : nullptr;
}

bool header_destroyed(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) {
    const Header* header = in_guarded(p) ? find_guarded(p) : find_large(p);
    return header != nullptr && header->user() == p;
  }
  const uintptr_t raw = heap.object_at(static_cast<ClassId>(owner), p);
  return raw != 0 && raw + sizeof(Header) == reinterpret_cast<uintptr_t>(p) &&
         first_other(header_of(p), 0, sizeof(Header)) < sizeof(Header);
}

}  // namespace pktmalloc::checked
