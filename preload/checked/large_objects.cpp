// SPDX-License-Identifier: MIT
#include "preload/checked/large_objects.h"

#include "preload/base/lock_rank.h"
#include "preload/base/undisturbed.h"
#include "preload/base/word_table.h"
#include "preload/process/thread.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc::checked {

constinit Mutex large_objects_mutex{lock_rank(OuterRank::kLargeObjects)};

namespace {

// Signals wait meanwhile: a handler that allocates would wait for the thread it interrupts; but not
// in strict mode, where to say so ends the thread. Between our fork handlers this thread already
// holds the lock.
struct TableLock : private SignalsWait, private Lock {
  TableLock()
      : SignalsWait(!memory::in_strict_mode), Lock(large_objects_mutex, !this_thread.forking) {}
};

uintptr_t address_in(Header* header) { return reinterpret_cast<uintptr_t>(header->user()); }
constinit WordTable<Header*, address_in> table;  // guarded by mutex

}  // namespace

bool add_large(Header* header) {
  const TableLock lock;
  Header* former = nullptr;
  return table.put(header, former);
}

void remove_large(Header* header) {
  const TableLock lock;
  table.take(address_in(header));
}

Header* find_large(const void* p) {
  const TableLock lock;
  if (Header* header = table.find(reinterpret_cast<uintptr_t>(p))) return header;
  for (size_t i = 0; i < table.size(); ++i) {
    Header* header = table[i];
    if (header == nullptr || !header->sealed()) continue;
    const char* raw = static_cast<const char*>(raw_of(*header));
    if (p >= raw && p < back_of(*header) + kLeastBack) return header;
  }
  return nullptr;
}

const Header* next_large(size_t& n, bool (*wanted)(const Header&)) {
  const TableLock lock;
  while (n < table.size()) {
    const Header* header = table[n++];
    if (header != nullptr && wanted(*header)) return header;
  }
  return nullptr;
}

}  // namespace pktmalloc::checked
