// SPDX-License-Identifier: MIT
// Slot: a place of the sampled guard, with what is known of the object there. Slots change owners
// by atomic exchange of their state; a fault's handler may look at any of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/stacks/finding.h"
#include "sizeclass/class_id.h"
#include "sizeclass/memory.h"
#include "sizeclass/rounding.h"

namespace pktmalloc {

// Two or three mappings a slot, out of the 65,530 that a process has by default.
inline constexpr uint32_t kSlots = 4096;
inline constexpr size_t kSlotDataBytes = size_t{256} << 10;  // what the pool serves

inline constinit uintptr_t guarded_begin = 0;
inline constinit uintptr_t guarded_bytes = 0;  // 0: off
inline bool is_guarded(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - guarded_begin < guarded_bytes;
}

struct Slot {
  enum class State : uint32_t { kUnused, kChanging, kLive, kFreed };

  std::atomic<State> state;
  StackId allocated_at;
  std::atomic<StackId> freed_at;
  uintptr_t user;
  size_t bytes;
  ClassId id;  // that would have served it, or kNoClass

  Facts facts() const;
};

// The accessible pages of an object.
struct Pages {
  explicit Pages(const Slot& slot)
      : begin(slot.user & ~(memory::page_bytes() - 1)),
        end(round_up(slot.user + slot.bytes, memory::page_bytes())) {}
  void* start() const { return reinterpret_cast<void*>(begin); }
  size_t bytes() const { return end - begin; }
  const uintptr_t begin, end;
};

// At load; false: the system refuses addresses.
bool start_slots();

// Of a guarded address.
Slot& slot_of(uintptr_t p);

// A slot to use, in state kChanging; `was` is its state before. nullptr: none is free.
Slot* take_slot(Slot::State& was);
uint32_t slots_taken();

// Where its data begins.
uintptr_t data_of(const Slot& slot);

// The object that an access there was meant for: the nearest one, because a guard page lies between
// two slots. nullptr: neither has one.
const Slot* nearest_slot(uintptr_t fault);

}  // namespace pktmalloc
