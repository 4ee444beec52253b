// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include <algorithm>

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"
#include "preload/process.h"

namespace pktmalloc::checked {

namespace {

// From the user bytes to the end of what there is.
size_t back_room(const Header& header) {
  const uintptr_t owner = heap.owner(&header);
  if (!Heap::is_class(owner)) return in_guarded(&header) ? guard_back_bytes(header) : kLeastBack;
  return heap.classes()[static_cast<ClassId>(owner)].object_bytes -
         front_bytes(header.alignment()) - header.bytes;
}

}  // namespace

Header* dress(void* raw, size_t alignment, size_t bytes, Family family, StackId allocated_at) {
  Header* header = header_of(static_cast<char*>(raw) + front_bytes(alignment));
  header->sum = 0;  // before anything changes: a sweep at exit may be looking
  if (front_bytes(alignment) > sizeof(Header)) memset(raw, 0, sizeof(Header));  // of a former owner
  header->bytes = bytes;
  header->allocated_at = allocated_at;
  header->freed_at.store(0, std::memory_order_relaxed);
  header->family = family;
  header->alignment_code =
      static_cast<uint8_t>(alignment == 0 ? 0 : 1 + std::countr_zero(alignment));
  header->back = static_cast<uint16_t>(std::min(back_room(*header), kMostBack));
  memset(back_of(*header), kBackByte, header->back);
  header->seal();
  return header;
}

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
  if (!Heap::is_class(owner)) return in_guarded(p) ? find_guarded(p) : find_large(p);
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? find_pooled(raw, heap.classes()[id].object_bytes) : nullptr;
}

}  // namespace pktmalloc::checked
