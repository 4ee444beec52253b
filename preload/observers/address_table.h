// SPDX-License-Identifier: MIT
// AddressTable: a small number (an id) for each live object, found by the object's address. For
// observers that must know at a release what the allocation said.
//
// Any thread. Shards with a lock each, by a hash of the address; in each a word an object, so the
// table costs 11 to 22 bytes for each object of the most that ever lived at once. Allocates nothing
// through malloc; keeps errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/base/lock_rank.h"
#include "preload/base/word_table.h"

namespace pktmalloc {

class AddressTable {
 public:
  static constexpr unsigned kIdBits = 20;
  static constexpr uint32_t kNoId = 0;

  constexpr AddressTable() = default;

  // Ranks of the shards' locks; before the first use.
  void start();

  // The id is not kNoId. `before` becomes the one that the address had already (its release was not
  // told), else kNoId. False, and nothing has changed, when the system refuses memory.
  bool put(const void* p, uint32_t id, uint32_t& before);

  // Forgets the address; its id, or kNoId.
  uint32_t take(const void* p);

  // Around fork: all shards.
  void lock();
  void unlock();

 private:
  // (address >> 3) << kIdBits | id
  static uintptr_t address_in(uint64_t word) { return word >> kIdBits << 3; }
  using Words = WordTable<uint64_t, address_in>;

  struct alignas(64) Shard {
    Mutex mutex;
    Words words;
  };

  Shard& shard(uint64_t address);

  Shard shards_[kSizesShards];
};

}  // namespace pktmalloc
