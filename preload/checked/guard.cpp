// SPDX-License-Identifier: MIT
#include "preload/checked/guard.h"

#include "preload/base/mapping.h"
#include "preload/process/heap.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {
namespace {

using State = Slot::State;

constexpr uint32_t kSlots = 16384;
constexpr uint32_t kEmptySlots = 4096;  // if there are only objects of no bytes
constexpr size_t kAlignment = 16;

ClassId guarded_class = kNoClass;
Record* records = nullptr;  // one a slot

// What is accessible once stays so.
bool make_accessible(const Slot& slot) {
  const uintptr_t data = data_of(slot);
  return memory::commit(reinterpret_cast<void*>(data), end_of(slot) - data);
}

Place place_of(const Slot& slot) {
  return {records + (&slot - slot_at(0)), reinterpret_cast<char*>(slot.user) - kFront,
          reinterpret_cast<char*>(end_of(slot))};
}

Object object_of(const Slot& slot) {
  const bool used = slot.state.load(std::memory_order_acquire) != State::kUnused;
  return used ? object_in(place_of(slot)) : Object{};
}

}  // namespace

void start_guard(size_t size) {
  if (!heap.started()) return;
  if (size != 0) guarded_class = heap.classes().find(size);
  guards_class = guarded_class != kNoClass;
  const size_t most = guards_class ? heap.classes()[guarded_class].object_bytes : 0;
  const uint32_t slots = guards_class ? kSlots : kEmptySlots;
  records = static_cast<Record*>(map_lazily(slots * sizeof *records));
  if (records == nullptr) return;
  start_slots(slots, round_up(kFront + kAlignment + most, memory::page_bytes()));
}

Place take_guarded(size_t bytes) {
  if (bytes != 0 && heap.classes().find(bytes) != guarded_class) return {};
  State was;
  Slot* const slot = take_slot(was);
  if (slot == nullptr) return {};
  if (was == State::kUnused && !make_accessible(*slot)) {
    slot->state.store(was, std::memory_order_release);
    return {};
  }
  slot->user = end_of(*slot) - round_up(bytes, kAlignment);
  const Place place = place_of(*slot);
  place.record->head.store(Head{}, std::memory_order_relaxed);
  slot->state.store(State::kLive, std::memory_order_release);
  return place;
}

void release_guarded(const Object& object) {
  slot_of(object.user).state.store(State::kFreed, std::memory_order_release);
}

Object find_guarded(const void* p) { return object_of(slot_of(p)); }

Object find_before_guard(const void* p) {
  const bool in_guard = reinterpret_cast<uintptr_t>(p) >= end_of(slot_of(p));
  return in_guard ? find_guarded(p) : Object{};
}

bool open_guard(const void* p) {
  return memory::commit(reinterpret_cast<void*>(end_of(slot_of(p))), memory::page_bytes());
}

Object next_guarded(size_t& n) {
  while (const Slot* const slot = slot_at(n++)) {
    if (const Object object = object_of(*slot)) return object;
  }
  return {};
}

}  // namespace pktmalloc::checked
