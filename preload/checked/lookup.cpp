// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {

namespace {

// The header of a pooled object may lie behind any pad.
Header* find_pooled(uintptr_t raw, size_t object_bytes) {
  for (size_t front = sizeof(Header); front < object_bytes; front *= 2) {
    Header* header = reinterpret_cast<Header*>(raw + front) - 1;
    if (header->sealed() && front_bytes(header->alignment()) == front) return header;
  }
  return nullptr;
}

Header* find_outside_pool(const void* p) { return is_guarded(p) ? find_guarded(p) : find_large(p); }

}  // namespace

Header* find_object_slow(const void* p) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) {
    Header* header = find_outside_pool(p);
    return header != nullptr && header->sealed() ? header : nullptr;
  }
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t raw = heap.object_at(id, p);
  return raw != 0 ? find_pooled(raw, heap.classes()[id].object_bytes) : nullptr;
}

Header* overwritten_in(uintptr_t raw, size_t object_bytes) {
  // Since a slot was first handed out, a canary lies in front of the user's bytes and later one at
  // the slot's end (dress): read them in the other order. Twice, because the owner may change
  // between the reads.
  for (int look = 0; look < 2; ++look) {
    const void* end = reinterpret_cast<const void*>(raw + object_bytes - kLeastBack);
    if (!filled(end, kBackByte, kLeastBack)) return nullptr;
    std::atomic_thread_fence(std::memory_order_acquire);
    for (size_t front = sizeof(Header); front < object_bytes; front *= 2) {
      Header* header = reinterpret_cast<Header*>(raw + front) - 1;
      if (header->canary == header->expected_canary()) {
        return header->overwritten() ? header : nullptr;
      }
    }
  }
  return reinterpret_cast<Header*>(raw);
}

Header* find_overwritten(void* p) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) {
    Header* header = find_outside_pool(p);
    return header != nullptr && header->user() == p ? header : nullptr;
  }
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t raw = heap.object_at(id, p);
  const size_t front = reinterpret_cast<uintptr_t>(p) - raw;
  if (raw == 0 || front < sizeof(Header) || !is_power_of_two(front)) return nullptr;
  Header* header = header_of(p);
  const bool usual =
      front == sizeof(Header) && first_other(header, 0, sizeof *header) < sizeof *header;
  return usual || overwritten_in(raw, heap.classes()[id].object_bytes) != nullptr ? header
                                                                                  : nullptr;
}

size_t bytes_by_canary(const Header& header) {
  const uint8_t* const user = static_cast<const uint8_t*>(header.user());
  const uintptr_t owner = heap.owner(&header);
  const uint8_t* end;
  if (Heap::is_class(owner)) {
    const ClassId id = static_cast<ClassId>(owner);
    end = reinterpret_cast<const uint8_t*>(heap.object_at(id, &header)) +
          heap.classes()[id].object_bytes;
  } else if (is_guarded(&header)) {
    end = user + guarded_room(user);
  } else {
    return kUntold;
  }
  while (end > user && end[-1] == kBackByte) --end;
  return static_cast<size_t>(end - user);
}

}  // namespace pktmalloc::checked
