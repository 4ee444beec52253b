// SPDX-License-Identifier: MIT
// Lookup: finds the object in raw memory, and the object of any pointer. In the pool the address
// says where the object's memory begins; elsewhere tables do.
#pragma once

#include <algorithm>

#include "preload/checked/object.h"
#include "preload/process/heap.h"

namespace pktmalloc::checked {

// Makes an object of raw memory and leaves its user bytes as they are. `raw_bytes`: the memory's
// size. Nothing before the header looks like one: of former owners' headers, which the program may
// have overwritten since, the first goes last, because a sweep stops at the first canary.
[[gnu::always_inline]] inline Header* dress(void* raw, size_t raw_bytes, size_t alignment,
                                            size_t bytes, Family family, StackId allocated_at) {
  const size_t front = front_bytes(alignment);
  Header* header = header_of(static_cast<char*>(raw) + front);
  header->unseal();
  for (size_t former = front / 2; former >= sizeof(Header); former /= 2) {
    memset(static_cast<char*>(raw) + former - sizeof(Header), 0, sizeof(Header));
    std::atomic_thread_fence(std::memory_order_release);
  }
  header->bytes = bytes;
  header->allocated_at = allocated_at;
  header->freed_at.store(0, std::memory_order_relaxed);
  const size_t back = std::min(raw_bytes - front - bytes, kMostBack);
  header->set_shape(family, alignment, back);
  fill(back_of(*header), kBackByte, back);
  header->seal();
  return header;
}

Header* find_object_slow(const void* p);

// The overwritten header in front of p, if there was one; p no longer belongs to an object.
Header* find_overwritten(void* p);

// The same in a slot of the pool where find_object() finds none. If no canary shows where the
// header was, it takes the usual place.
Header* overwritten_in(uintptr_t raw, size_t object_bytes);

// User bytes of an object with an overwritten header, as its back canary shows; kUntold if nobody
// knows where that ends.
size_t bytes_by_canary(const Header& header);

// The object that begins at p or contains it; nullptr: none. Any thread, any pointer.
inline Header* find_object(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner)) [[likely]] {
    if (heap.slab_holds(static_cast<ClassId>(owner), p, sizeof(Header))) [[likely]] {
      Header* header = header_of(const_cast<void*>(p));
      if (header->sealed()) [[likely]]
        return header;
    }
  }
  return find_object_slow(p);
}

}  // namespace pktmalloc::checked
