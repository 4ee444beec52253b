// SPDX-License-Identifier: MIT
// ShardedStack: a MagazineStack in kShards parts, so that threads that exchange magazines at the
// same time seldom meet at one cache line.
//
// Every thread has a home, a number below kShards: it pushes there, pops there, and where nothing
// is left at home it takes from the other parts in turn. So a magazine stays near the thread that
// gave it, and yet nobody goes without while there is one anywhere. LIFO in each part. Any thread,
// no lock.
#pragma once

#include <cstdint>

#include "sizeclass/magazine_stack.h"

namespace pktmalloc {

class ShardedStack {
 public:
  // Two threads that run at once meet in one of eight; a program with one looks at seven empty
  // parts before it asks the slabs, which costs more anyway.
  static constexpr unsigned kShards = 8;

  void start(uintptr_t magazine_base) {
    for (auto& shard : shards_) shard.start(magazine_base);
  }

  void push(Magazine* magazine, unsigned home) { shards_[home].push(magazine); }

  // nullptr when there is none.
  Magazine* pop(unsigned home) {
    for (unsigned n = 0; n < kShards; ++n) {
      if (Magazine* magazine = shards_[(home + n) % kShards].pop()) return magazine;
    }
    return nullptr;
  }

  // See MagazineStack.
  void freeze() {
    for (auto& shard : shards_) shard.freeze();
  }
  void thaw() {
    for (auto& shard : shards_) shard.thaw();
  }

  // How many magazines; exact when nobody else is at it.
  uint32_t depth() const {
    uint32_t sum = 0;
    for (const auto& shard : shards_) sum += shard.depth();
    return sum;
  }

  // Ends a tick of the low-water marks: how many magazines nobody needed.
  uint32_t tick() {
    uint32_t unneeded = 0;
    for (auto& shard : shards_) unneeded += shard.tick();
    return unneeded;
  }

 private:
  MagazineStack shards_[kShards];
};

}  // namespace pktmalloc
