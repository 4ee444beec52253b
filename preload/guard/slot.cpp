// SPDX-License-Identifier: MIT
#include "preload/guard/slot.h"

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kTries = 64;  // live ones may lie in the way

Slot* slots = nullptr;
uint32_t slot_count = 0;
size_t data_bytes = 0;
size_t slot_bytes = 0;
constinit std::atomic<uint64_t> turn = 0;

}  // namespace

Facts Slot::facts() const {
  const bool is_freed = state.load(std::memory_order_acquire) == State::kFreed;
  return {.user = reinterpret_cast<void*>(user),
          .bytes = bytes,
          .allocated_at = allocated_at,
          .freed_at = freed_at.load(std::memory_order_relaxed),
          .is_freed = is_freed};
}

bool start_slots(uint32_t count, size_t data) {
  constexpr size_t kLeast = 16;  // of addresses that are all inaccessible
  data_bytes = data;
  slot_bytes = data > 0 ? data + memory::page_bytes() : kLeast;
  slots = static_cast<Slot*>(map_lazily(count * sizeof *slots));
  void* const region = memory::reserve(count * slot_bytes);
  if (slots == nullptr || region == nullptr) return false;
  slot_count = count;
  guarded_begin = reinterpret_cast<uintptr_t>(region);
  guarded_bytes = count * slot_bytes;
  return true;
}

uintptr_t data_of(const Slot& slot) {
  return guarded_begin + static_cast<size_t>(&slot - slots) * slot_bytes;
}

uintptr_t end_of(const Slot& slot) { return data_of(slot) + data_bytes; }

Slot& slot_of(uintptr_t p) { return slots[(p - guarded_begin) / slot_bytes]; }

uint64_t slots_taken() { return turn.load(std::memory_order_relaxed); }

Slot* take_slot(Slot::State& was) {
  for (uint32_t tries = 0; tries < kTries && slot_count > 0; ++tries) {
    // Not the first slot: nothing inaccessible lies before it.
    Slot& slot = slots[1 + turn.fetch_add(1, std::memory_order_relaxed) % (slot_count - 1)];
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
  for (const Slot* slot = &here; slot <= &here + 1 && slot < slots + slot_count; ++slot) {
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

const Slot* slot_at(size_t n) { return n < slot_count && n <= slots_taken() ? slots + n : nullptr; }

}  // namespace pktmalloc
