// SPDX-License-Identifier: MIT
// Lookup: from raw memory to an object, and from any pointer to the object that it belongs to. In
// the pool the address tells where the object's memory begins; elsewhere tables do.
#pragma once

#include "preload/checked/object.h"
#include "preload/process.h"

namespace pktmalloc::checked {

// Makes an object of raw memory; its user bytes are left as they are.
Header* dress(void* raw, size_t alignment, size_t bytes, Family family, StackId allocated_at);

Header* find_object_slow(const void* p);

// The object that begins at p or has p inside it; nullptr: neither. Any thread, any pointer.
inline Header* find_object(const void* p) {
  const uintptr_t owner = heap.owner(p);
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  if (Heap::is_class(owner) && address % 16 == 0) [[likely]] {
    const uintptr_t raw = heap.object_at(static_cast<ClassId>(owner), p);
    if (raw != 0 && address - raw >= sizeof(Header)) [[likely]] {
      Header* header = header_of(const_cast<void*>(p));
      if (header->sealed() && raw_of(*header) == reinterpret_cast<void*>(raw)) [[likely]]
        return header;
    }
  }
  return find_object_slow(p);
}

}  // namespace pktmalloc::checked
