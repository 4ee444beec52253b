// SPDX-License-Identifier: MIT
// Slot: a place for an object that ends where nobody may read or write, with what is known of it.
//
//     | data: the user of the slot makes pages accessible | guard page |    a slot
//
// Slots without data are 16 bytes in pages that all are guard pages.
//
// The sampled guard, objects of no bytes and the checked library's guarded class use them. Slots
// change owners in turn, by atomic exchange of their state: no lock, in signal handlers and between
// fork's handlers too. A fault's handler may look at any of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/base/mapping.h"
#include "preload/stacks/finding.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/class_id.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/owned.h"

namespace pktmalloc {

inline constinit uintptr_t guarded_begin = 0;
inline constinit Owned<uintptr_t> guarded_bytes = 0;  // 0: no slots
inline bool is_guarded(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - guarded_begin < guarded_bytes.seen();
}

struct Slot {
  enum class State : uint32_t { kUnused, kChanging, kLive, kFreed };

  std::atomic<State> state;
  StackId allocated_at;
  std::atomic<StackId> freed_at;
  uintptr_t user;
  size_t bytes;
  ClassId id;  // that would have served it, or kNoClass

  Facts facts() const {
    const bool is_freed = state.load(std::memory_order_acquire) == State::kFreed;
    return {.user = reinterpret_cast<void*>(user),
            .bytes = bytes,
            .allocated_at = allocated_at,
            .freed_at = freed_at.load(std::memory_order_relaxed),
            .is_freed = is_freed};
  }
};

// The pages of an object; of no bytes: none.
struct Pages {
  Pages(uintptr_t user, size_t user_bytes) : begin(user), end(user) {
    if (user_bytes == 0) return;
    begin &= ~(memory::page_bytes() - 1);
    end = round_up(user + user_bytes, memory::page_bytes());
  }
  explicit Pages(const Slot& slot) : Pages(slot.user, slot.bytes) {}
  void* start() const { return reinterpret_cast<void*>(begin); }
  size_t bytes() const { return end - begin; }
  uintptr_t begin, end;
};

inline constinit Slot* slot_table = nullptr;
inline constinit Owned<uint32_t> slot_count = 0;
inline constinit size_t slot_data_bytes = 0;
inline constinit size_t slot_bytes = 0;
inline constinit std::atomic<uint64_t> slot_turn = 0;

// At load, once; false: the system refuses addresses. A slot that is in use takes two or three
// mappings, out of the 65,530 that a process has by default.
inline bool start_slots(uint32_t count, size_t data) {
  constexpr size_t kLeast = 16;  // of addresses that are all inaccessible
  slot_data_bytes = data;
  slot_bytes = data > 0 ? data + memory::page_bytes() : kLeast;
  slot_table = static_cast<Slot*>(map_lazily(count * sizeof *slot_table));
  void* const region = map_lazily(count * slot_bytes, PROT_NONE);
  if (slot_table == nullptr || region == nullptr) return false;
  slot_count = count;
  guarded_begin = reinterpret_cast<uintptr_t>(region);
  guarded_bytes = count * slot_bytes;
  return true;
}

// Of a guarded address.
inline Slot& slot_of(uintptr_t p) { return slot_table[(p - guarded_begin) / slot_bytes]; }
inline Slot& slot_of(const void* p) { return slot_of(reinterpret_cast<uintptr_t>(p)); }

// A slot to use, in state kChanging; `was` is its state before. nullptr: none is free, or it would
// take long to find one.
inline Slot* take_slot(Slot::State& was) {
  constexpr uint32_t kMost = 64;  // live ones may lie in the way
  const uint32_t count = slot_count.seen();
  for (uint32_t tries = 0; tries < kMost && count > 0; ++tries) {
    // Not the first slot: nothing inaccessible lies before it.
    Slot& slot = slot_table[1 + slot_turn.fetch_add(1, std::memory_order_relaxed) % (count - 1)];
    was = slot.state.load(std::memory_order_relaxed);
    if ((was == Slot::State::kUnused || was == Slot::State::kFreed) &&
        slot.state.compare_exchange_strong(was, Slot::State::kChanging,
                                           std::memory_order_acquire)) {
      return &slot;
    }
  }
  return nullptr;
}
inline uint64_t slots_taken() { return slot_turn.load(std::memory_order_relaxed); }

// Gives back addresses beyond so many bytes, down to the last slot with an object; what was freed
// behind it is forgotten. One thread at a time.
inline void limit_slots(size_t bytes) {
  if (slot_data_bytes == 0) return;
  const size_t former = guarded_bytes;
  uint32_t count = slot_count;
  for (; count > 2 && count * slot_bytes > bytes; --count) {
    std::atomic<Slot::State>& state = slot_table[count - 1].state;
    Slot::State was = state.load(std::memory_order_relaxed);
    const bool is_free = was == Slot::State::kUnused || was == Slot::State::kFreed;
    // From now on nobody takes it.
    if (!is_free || !state.compare_exchange_strong(was, Slot::State::kChanging)) break;
  }
  slot_count = count;
  guarded_bytes = count * slot_bytes;
  if (guarded_bytes < former)
    memory::release(reinterpret_cast<void*>(guarded_begin + guarded_bytes), former - guarded_bytes);
}

// Where its data begins.
inline uintptr_t data_of(const Slot& slot) {
  return guarded_begin + static_cast<size_t>(&slot - slot_table) * slot_bytes;
}
// Where it ends and the guard page begins.
inline uintptr_t end_of(const Slot& slot) { return data_of(slot) + slot_data_bytes; }

// The object that an access there was meant for: the nearest one, because a guard page lies between
// two slots. nullptr: neither has one.
inline const Slot* nearest_slot(uintptr_t fault) {
  const Slot* best = nullptr;
  size_t least = ~size_t{0};
  Slot& here = slot_of(fault);
  for (const Slot* slot = &here; slot <= &here + 1 && slot < slot_table + slot_count.seen();
       ++slot) {
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

// Makes the page accessible that such an access was refused.
inline bool open_page(uintptr_t fault) {
  const size_t page = memory::page_bytes();
  return memory::commit(reinterpret_cast<void*>(fault & ~(page - 1)), page);
}

// For a sweep: the n-th; nullptr: no more have been used.
inline const Slot* slot_at(size_t n) {
  return n < slot_count.seen() && n <= slots_taken() ? slot_table + n : nullptr;
}

}  // namespace pktmalloc
