// SPDX-License-Identifier: MIT
#include "preload/checked/large_objects.h"

#include "preload/lock_rank.h"
#include "preload/mapping.h"
#include "preload/thread.h"

namespace pktmalloc::checked {
namespace {

constinit Mutex mutex{lock_rank(OuterRank::kLargeObjects)};
Header** table = nullptr;
unsigned shift = 0;  // 1 << shift entries
size_t count = 0;

class TableLock {
 public:
  TableLock() {
    if (!mine_) mutex.lock();
  }
  ~TableLock() {
    if (!mine_) mutex.unlock();
  }

 private:
  const bool mine_ = this_thread.forking;
};

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

}  // namespace

void start_large_objects() {
  for (unsigned bits = 20; bits >= 10 && table == nullptr; bits -= 5) {
    table = static_cast<Header**>(map_lazily(sizeof(void*) << bits));
    shift = bits;
  }
}

bool add_large(Header* header) {
  const TableLock lock;
  if (table == nullptr || count > mask() / 4 * 3) return false;
  table[entry_of(header->user())] = header;
  ++count;
  return true;
}

void remove_large(Header* header) {
  const TableLock lock;
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
  if (table == nullptr) return nullptr;
  const TableLock lock;
  if (Header* header = table[entry_of(p)]) return header;
  for (size_t i = 0; i <= mask() && count > 0; ++i) {
    Header* header = table[i];
    if (header == nullptr || !header->sealed()) continue;
    const char* raw = static_cast<const char*>(raw_of(*header));
    if (p >= raw && p < back_of(*header) + kLeastBack) return header;
  }
  return nullptr;
}

const Header* next_large(size_t& n, bool (*wanted)(const Header&)) {
  const TableLock lock;
  if (count == 0) return nullptr;
  while (n <= mask()) {
    const Header* header = table[n++];
    if (header != nullptr && wanted(*header)) return header;
  }
  return nullptr;
}

Mutex& large_objects_mutex() { return mutex; }

}  // namespace pktmalloc::checked
