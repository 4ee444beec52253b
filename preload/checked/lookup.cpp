// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/base/mapping.h"
#include "preload/base/undisturbed.h"
#include "preload/base/word_table.h"
#include "preload/process/process.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc::checked {

constinit Mutex large_objects_mutex{part_rank(PartId::checks)};

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

// Signals wait meanwhile: a handler that allocates would wait for the thread it interrupts; but not
// in strict mode, where to say so ends the thread. Between our fork handlers this thread already
// holds the lock.
struct TableLock : private SignalsWait, private Lock {
  TableLock()
      : SignalsWait(!memory::in_strict_mode), Lock(large_objects_mutex, !this_thread.forking) {}
};

// Lies in the pool, as an undressed object.
struct Large {
  Record record;
  Place place;
  char* user;
};

uintptr_t address_in(Large* large) { return reinterpret_cast<uintptr_t>(large->user); }
constinit WordTable<Large*, address_in> table;  // guarded by mutex

template <typename Wanted>
Object next(size_t& n, Wanted wanted) {
  while (n < table.size()) {
    const Large* const large = table[n++];
    const Object object = large != nullptr ? object_in(large->place) : Object{};
    if (object && wanted(object)) return object;
  }
  return {};
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

Place add_large(char* raw, char* user, char* end) {
  void* const memory = allocate_slow(sizeof(Large));
  if (memory == nullptr) return {};
  auto* const large = new (memory) Large{{}, {}, user};
  large->place = {&large->record, raw, end};
  Large* former = nullptr;
  {
    const TableLock lock;
    if (table.put(large, former)) return large->place;
  }
  release(large);
  return {};
}

void remove_large(const Object& object) {
  Large* large;
  {
    const TableLock lock;
    large = table.take(reinterpret_cast<uintptr_t>(object.user));
  }
  if (large != nullptr) release(large);
}

Object find_large(const void* p) {
  const TableLock lock;
  if (const Large* large = table.find(reinterpret_cast<uintptr_t>(p)))
    return object_in(large->place);
  size_t n = 0;
  return next(n, [p](const Object& object) { return p >= object.raw() && p < object.end; });
}

Object next_large(size_t& n, bool (*wanted)(const Object&)) {
  const TableLock lock;
  return next(n, wanted);
}

}  // namespace pktmalloc::checked
