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

#include "preload/stacks/finding.h"
#include "sizeclass/base/class_id.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc {

inline constinit uintptr_t guarded_begin = 0;
inline constinit uintptr_t guarded_bytes = 0;  // 0: no slots
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

// At load, once; false: the system refuses addresses. A slot that is in use takes two or three
// mappings, out of the 65,530 that a process has by default.
bool start_slots(uint32_t count, size_t data);

// Of a guarded address.
Slot& slot_of(uintptr_t p);
inline Slot& slot_of(const void* p) { return slot_of(reinterpret_cast<uintptr_t>(p)); }

// A slot to use, in state kChanging; `was` is its state before. nullptr: none is free, or it would
// take long to find one.
Slot* take_slot(Slot::State& was);
uint64_t slots_taken();

// Where its data begins.
uintptr_t data_of(const Slot& slot);
// Where it ends and the guard page begins.
uintptr_t end_of(const Slot& slot);

// The object that an access there was meant for: the nearest one, because a guard page lies between
// two slots. nullptr: neither has one.
const Slot* nearest_slot(uintptr_t fault);

// Makes the page accessible that such an access was refused.
inline bool open_page(uintptr_t fault) {
  const size_t page = memory::page_bytes();
  return memory::commit(reinterpret_cast<void*>(fault & ~(page - 1)), page);
}

// For a sweep: the n-th; nullptr: no more have been used.
const Slot* slot_at(size_t n);

}  // namespace pktmalloc
