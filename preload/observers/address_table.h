// SPDX-License-Identifier: MIT
// AddressTable: a small number (an id) for each live object, found by the object's address. For
// observers that must know at a release what the allocation said.
//
// Any thread. Shards with a lock each, by a hash of the address; in each open addressing with
// linear probing in memory of its own, a word of 8 bytes an object, half to three quarters full
// while it grows. A shard doubles when it is three quarters full and never shrinks, so the table
// costs 11 to 22 bytes for each object of the most that ever lived at once. Allocates nothing
// through malloc; keeps errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/base/lock_rank.h"

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
  static constexpr unsigned kShardBits = 4;
  static_assert(1U << kShardBits == kSizesShards);

  struct alignas(64) Shard {
    Mutex mutex;
    uint64_t* words = nullptr;  // (address >> 3) << kIdBits | id; 0: free
    unsigned bits = 0;          // 1 << bits words
    size_t count = 0;

    size_t mask() const { return (size_t{1} << bits) - 1; }
    size_t home(uint64_t address) const;
    size_t find(uint64_t address) const;  // its word, or the free one where it would be
    bool make_room();
  };

  Shard& shard(uint64_t address);

  Shard shards_[1U << kShardBits];
};

}  // namespace pktmalloc
