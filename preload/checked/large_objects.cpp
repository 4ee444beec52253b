// SPDX-License-Identifier: MIT
#include "preload/checked/large_objects.h"

#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/checked/table_lock.h"
#include "preload/process/thread.h"

namespace pktmalloc::checked {
namespace {

constinit Mutex mutex{lock_rank(OuterRank::kLargeObjects)};
constexpr unsigned kFirstShift = 9;
Header** table = nullptr;
unsigned shift = 0;  // 1 << shift entries
size_t count = 0;

size_t mask() { return (size_t{1} << shift) - 1; }

size_t home(const void* user) {
  return reinterpret_cast<uintptr_t>(user) * 0x9E3779B97F4A7C15 >> (64 - shift);
}

// Its entry, or the free one where it would be.
size_t entry_of(const void* user) {
  size_t i = home(user);
  while (table[i] != nullptr && table[i]->user() != user) i = (i + 1) & mask();
  return i;
}

// Twice as many entries. If the system refuses, the table stays as it is.
void grow() {
  Header** const former = table;
  const size_t entries = former == nullptr ? 0 : mask() + 1;
  const unsigned bits = former == nullptr ? kFirstShift : shift + 1;
  void* const memory = map_lazily(sizeof(void*) << bits);
  if (memory == nullptr) return;
  table = static_cast<Header**>(memory);
  shift = bits;
  for (size_t i = 0; i < entries; ++i) {
    if (former[i] != nullptr) table[entry_of(former[i]->user())] = former[i];
  }
  if (former != nullptr) munmap(former, entries * sizeof(void*));
}

}  // namespace

bool add_large(Header* header) {
  const TableLock lock(mutex);
  if (table == nullptr || count > mask() / 4 * 3) grow();
  if (table == nullptr || count == mask()) return false;  // one entry must be free
  table[entry_of(header->user())] = header;
  ++count;
  return true;
}

void remove_large(Header* header) {
  const TableLock lock(mutex);
  size_t hole = entry_of(header->user());
  if (table[hole] == nullptr) return;
  --count;
  for (size_t i = (hole + 1) & mask(); table[i] != nullptr; i = (i + 1) & mask()) {
    // What is at home behind the hole would no longer be found.
    if (((i - home(table[i]->user())) & mask()) < ((i - hole) & mask())) continue;
    table[hole] = table[i];
    hole = i;
  }
  table[hole] = nullptr;
}

Header* find_large(const void* p) {
  const TableLock lock(mutex);
  if (count == 0) return nullptr;
  if (Header* header = table[entry_of(p)]) return header;
  for (size_t i = 0; i <= mask(); ++i) {
    Header* header = table[i];
    if (header == nullptr || !header->sealed()) continue;
    const char* raw = static_cast<const char*>(raw_of(*header));
    if (p >= raw && p < back_of(*header) + kLeastBack) return header;
  }
  return nullptr;
}

const Header* next_large(size_t& n, bool (*wanted)(const Header&)) {
  const TableLock lock(mutex);
  if (count == 0) return nullptr;
  while (n <= mask()) {
    const Header* header = table[n++];
    if (header != nullptr && wanted(*header)) return header;
  }
  return nullptr;
}

Mutex& large_objects_mutex() { return mutex; }

}  // namespace pktmalloc::checked
