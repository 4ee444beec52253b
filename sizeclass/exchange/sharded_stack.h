// SPDX-License-Identifier: MIT
// ShardedStack: a MagazineStack in kShards parts, so that threads that exchange magazines at the
// same time seldom share a cache line.
//
// Every thread has a home, a number below kShards. It pushes and pops there; when its home is empty
// it takes from the others, neighbours first: home ^ 1, then the rest of its four, then the other
// four. So a magazine stays near the thread that gave it, and nobody goes without while there is
// one anywhere. Each part is LIFO. Any thread, no lock; but only one thread at a time may handle
// idle magazines, which leave part by part.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sizeclass/exchange/magazine_stack.h"

namespace pktmalloc {

class ShardedStack {
 public:
  // Two threads that run at once meet in one of eight cases; a program with one thread looks at
  // seven empty parts before it asks the slabs, which costs more anyway.
  static constexpr unsigned kShards = 8;
  static_assert(std::has_single_bit(kShards), "so home ^ n is a part");

  void push(Magazine* magazine, unsigned home) { shards_[home].push(magazine); }

  // nullptr when there is none.
  Magazine* pop(unsigned home) {
    for (unsigned n = 0; n < kShards; ++n) {
      if (Magazine* magazine = pop_at(home ^ n)) return magazine;
    }
    return nullptr;
  }
  // From that part alone.
  Magazine* pop_at(unsigned home) { return shards_[home].pop(); }

  // See MagazineStack.
  void freeze() {
    for (auto& shard : shards_) shard.freeze();
  }
  void thaw() {
    for (auto& shard : shards_) shard.thaw();
  }

  // How many magazines; exact when nobody else changes it.
  uint32_t depth() const {
    uint32_t sum = 0;
    for (const auto& shard : shards_) sum += shard.depth();
    return sum;
  }

  uint32_t depth(unsigned home) const { return shards_[home].depth(); }
  // Objects in one part.
  uint32_t objects(unsigned home) const { return shards_[home].objects(); }
  uint64_t head(unsigned home) const { return shards_[home].head(); }

  // Ends a tick of the low-water marks: magazines that nobody needed are idle until somebody needs
  // them. Returns how many.
  uint32_t tick() {
    uint32_t idle = 0;
    for (auto& shard : shards_) idle += shard.idle = shard.tick();
    return idle;
  }

  // An idle magazine; nullptr when there is none.
  Magazine* pop_idle() {
    for (auto& shard : shards_) {
      if (shard.idle == 0) continue;
      shard.idle = std::min(shard.idle, shard.unneeded());
      if (shard.idle == 0) continue;
      --shard.idle;
      if (Magazine* magazine = shard.pop_unneeded()) return magazine;
    }
    return nullptr;
  }

 private:
  struct Shard : MagazineStack {
    uint32_t idle = 0;  // magazines
  };
  static_assert(sizeof(Shard) == 64, "one cache line");

  Shard shards_[kShards];
};

}  // namespace pktmalloc
