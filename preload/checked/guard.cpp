// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/base/mapping.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc::checked {
namespace {

using State = Slot::State;

constexpr uint32_t kSlots = 16384;
constexpr uint32_t kEmptySlots = 4096;  // if there are only objects of no bytes
constexpr size_t kAlignment = 16;

Record* records = nullptr;  // one a slot

Place place_of(const Slot& slot) {
  return {records + (&slot - slot_at(0)), reinterpret_cast<char*>(slot.user) - kFront,
          reinterpret_cast<char*>(end_of(slot))};
}

}  // namespace

void start_guard(size_t size) {
  if (!heap.started()) return;
  if (size != 0) guarded_class = heap.classes().find(size);
  const uint32_t slots = guarded_class != kNoClass ? kSlots : kEmptySlots;
  const size_t most = heap.classes()[guarded_class].object_bytes;  // of none: 0
  records = static_cast<Record*>(map_lazily(slots * sizeof *records));
  if (records == nullptr) return;
  start_slots(slots, round_up(kFront + kAlignment + most, memory::page_bytes()));
}

Place allocate_guarded(size_t bytes) {
  if (bytes != 0 && heap.classes().find(bytes) != guarded_class) return {};
  State was;
  Slot* const slot = take_slot(was);
  if (slot == nullptr) return {};
  const uintptr_t data = data_of(*slot), end = end_of(*slot);
  // What is accessible once stays so.
  if (was == State::kUnused && !memory::commit(reinterpret_cast<void*>(data), end - data)) {
    slot->state.store(was, std::memory_order_release);
    return {};
  }
  slot->user = end - round_up(bytes, kAlignment);
  slot->state.store(State::kLive, std::memory_order_release);
  return place_of(*slot);
}

void release_guarded(const Object& object) {
  slot_of(object.user).state.store(State::kFreed, std::memory_order_release);
}

// Of a slot that nobody has used the record says so, too.
Object find_guarded(const void* p) { return object_in(place_of(slot_of(p))); }

void each_guarded(void (*visit)(const Object&)) {
  for (size_t n = 0; const Slot* const slot = slot_at(n); ++n) visit(object_in(place_of(*slot)));
}

}  // namespace pktmalloc::checked
