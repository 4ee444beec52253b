// SPDX-License-Identifier: MIT
#include "preload/guard/slot.h"

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

Slot* slots = nullptr;
size_t slot_bytes = 0;
constinit std::atomic<uint32_t> turn = 0;

}  // namespace

Facts Slot::facts() const {
  return {reinterpret_cast<void*>(user),
          bytes,
          allocated_at,
          freed_at.load(std::memory_order_relaxed),
          {}};
}

bool start_slots() {
  slot_bytes = kSlotDataBytes + memory::page_bytes();
  slots = static_cast<Slot*>(map_lazily(kSlots * sizeof *slots));
  if (slots == nullptr) return false;
  void* const region = memory::reserve(kSlots * slot_bytes, memory::page_bytes());
  if (region == nullptr) return false;
  guarded_begin = reinterpret_cast<uintptr_t>(region);
  guarded_bytes = kSlots * slot_bytes;
  return true;
}

uintptr_t data_of(const Slot& slot) {
  return guarded_begin + static_cast<size_t>(&slot - slots) * slot_bytes;
}

Slot& slot_of(uintptr_t p) { return slots[(p - guarded_begin) / slot_bytes]; }

uint32_t slots_taken() { return turn.load(std::memory_order_relaxed); }

Slot* take_slot(Slot::State& was) {
  for (uint32_t tries = 0; tries < kSlots; ++tries) {
    // Not the first slot: nothing inaccessible lies before it.
    Slot& slot = slots[1 + turn.fetch_add(1, std::memory_order_relaxed) % (kSlots - 1)];
    was = slot.state.load(std::memory_order_relaxed);
    if ((was == Slot::State::kUnused || was == Slot::State::kFreed) &&
        slot.state.compare_exchange_strong(was, Slot::State::kChanging,
                                           std::memory_order_acquire)) {
      return &slot;
    }
  }
  return nullptr;
}

const Slot* nearest_slot(uintptr_t fault) {
  const Slot* best = nullptr;
  size_t least = ~size_t{0};
  Slot& here = slot_of(fault);
  for (const Slot* slot = &here; slot <= &here + 1 && slot < slots + kSlots; ++slot) {
    const Slot::State state = slot->state.load(std::memory_order_acquire);
    if (state != Slot::State::kLive && state != Slot::State::kFreed) continue;
    const uintptr_t end = slot->user + slot->bytes;
    const size_t distance = fault < slot->user ? slot->user - fault : fault < end ? 0 : fault - end;
    if (distance < least) {
      least = distance;
      best = slot;
    }
  }
  return best;
}

}  // namespace pktmalloc
