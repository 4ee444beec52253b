// SPDX-License-Identifier: MIT
#include "preload/checked/large_objects.h"

#include "preload/base/lock_rank.h"
#include "preload/base/word_table.h"
#include "preload/checked/table_lock.h"

namespace pktmalloc::checked {

constinit Mutex large_objects_mutex{lock_rank(OuterRank::kLargeObjects)};

namespace {

uintptr_t address_in(Header* header) { return reinterpret_cast<uintptr_t>(header->user()); }
constinit WordTable<Header*, address_in> table;  // guarded by mutex

}  // namespace

bool add_large(Header* header) {
  const TableLock lock(large_objects_mutex);
  Header* former = nullptr;
  return table.put(header, former);
}

void remove_large(Header* header) {
  const TableLock lock(large_objects_mutex);
  table.take(address_in(header));
}

Header* find_large(const void* p) {
  const TableLock lock(large_objects_mutex);
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
  const TableLock lock(large_objects_mutex);
  while (n < table.size()) {
    const Header* header = table[n++];
    if (header != nullptr && wanted(*header)) return header;
  }
  return nullptr;
}

}  // namespace pktmalloc::checked
