// SPDX-License-Identifier: MIT
// AddressTable: maps the address of each live object to a small number (an id). For observers that
// must know at a release what the allocation said.
//
// Any thread. A hash of the address chooses a shard, each with a lock; an object takes one word, so
// the table costs 11 to 22 bytes per object of the largest number that ever lived at once.
// Allocates nothing through malloc; keeps errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/base/lock_rank.h"
#include "preload/base/word_table.h"
#include "sizeclass/machine.h"

namespace pktmalloc {

class AddressTable {
 public:
  static constexpr unsigned kIdBits = 64 + 3 - machine::kAddressBits;
  static constexpr uint32_t kNoId = 0;

  constexpr AddressTable() = default;

  // Sets the ranks of the shards' locks; before the first use.
  void start();

  // The id is not kNoId. `before` becomes the id that the address already had (nobody told its
  // release), else kNoId. False, with nothing changed, when the system refuses memory.
  bool put(const void* p, uint32_t id, uint32_t& before);

  // Forgets the address and returns its id, or kNoId.
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
