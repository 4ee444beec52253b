// SPDX-License-Identifier: MIT
#include "preload/checked/lookup.h"

#include "preload/base/undisturbed.h"
#include "preload/base/word_table.h"
#include "preload/process/process.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc::checked {

constinit Mutex large_objects_mutex{part_rank(PartId::checks)};

namespace {

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
