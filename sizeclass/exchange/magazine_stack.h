// SPDX-License-Identifier: MIT
// MagazineStack: a lock-free LIFO of magazines (Treiber 1986), with a low-water mark.
//
// LIFO because the newest magazine is the warmest in cache. The head is {id of the top magazine,
// tag}; a magazine's id is its distance from the magazine base in granules, 0 = none. The tag grows
// with every change, so a head that was taken and put back is not mistaken for the old one (ABA).
// Magazines are never unmapped, so it is harmless to read `next` of one that somebody has just
// taken: the compare-and-swap then fails. Any thread, no lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "sizeclass/base/clock.h"
#include "sizeclass/base/low_water.h"
#include "sizeclass/exchange/magazine.h"

namespace pktmalloc {

class alignas(64) MagazineStack {
 public:
  // The address that ids count from, for all stacks: of magazines there is one pool in a process.
  // Set before any other call.
  static void use_base(uintptr_t magazine_base) { base_ = magazine_base; }

  void push(Magazine* magazine) {
    uint64_t head;
    do {
      head = load_head();
      magazine->next.store(id_in(head), std::memory_order_relaxed);
      magazine->depth.store(1 + depth_at(head), std::memory_order_relaxed);
      magazine->all.store(magazine->rounds + objects_at(head), std::memory_order_relaxed);
      // Release: whoever takes the magazine (acquire in pop) sees what we wrote to it.
    } while (!replace(head, id_of(magazine), std::memory_order_release));
  }

  // nullptr when empty.
  Magazine* pop() {
    Magazine* const magazine = take();
    if (magazine != nullptr) low_.record(magazine->depth.load(std::memory_order_relaxed) - 1);
    return magazine;
  }

  // Until thaw() every push and pop waits. Only for the moment of a fork; one caller.
  void freeze() {
    uint64_t head = head_.load(std::memory_order_acquire);
    do {
      frozen_head_.store(head, std::memory_order_relaxed);
      // Release: whoever finds kFrozen in depth() (acquire) also finds what was frozen.
    } while (!head_.compare_exchange_weak(head, kFrozen, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  }
  void thaw() {
    head_.store(frozen_head_.load(std::memory_order_relaxed), std::memory_order_release);
  }

  // How many magazines, frozen or not; exact when nobody else changes it.
  uint32_t depth() const { return depth_at(head()); }
  uint32_t objects() const { return objects_at(head()); }  // in them, likewise
  // The same word: no magazine came or went since. Its lower half is the id of the top one; 0:
  // none.
  uint64_t head() const {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return head == kFrozen ? frozen_head_.load(std::memory_order_relaxed) : head;
  }

  // Ends a tick of the low-water mark (low_water.h); one caller at a time.
  uint32_t tick() { return low_.tick(depth()); }
  uint32_t unneeded() const { return low_.lowest(); }
  // pop() for a caller that does not need it.
  Magazine* pop_unneeded() {
    Magazine* const magazine = take();
    if (magazine != nullptr) low_.remove(1);
    return magazine;
  }

 private:
  // Id and tag all ones. No id reaches that: 2^32 granules of 64 bytes are twice what the pool of
  // magazines can grow to (Heap::find_room).
  static constexpr uint64_t kFrozen = ~uint64_t{0};

  Magazine* take() {
    Magazine* top;
    uint64_t head;
    do {
      head = load_head();
      if (id_in(head) == 0) return nullptr;
      top = at(id_in(head));
      // Acquire: see push. Later pops are read-modify-writes and continue the push's release
      // sequence.
    } while (!replace(head, top->next.load(std::memory_order_relaxed), std::memory_order_acquire));
    return top;
  }
  // With the id of another top. False: the head was no longer the same.
  bool replace(uint64_t head, uint32_t id, std::memory_order order) {
    const uint64_t tag = (head >> 32) + 1;
    return head_.compare_exchange_weak(head, tag << 32 | id, order, std::memory_order_relaxed);
  }
  uint64_t load_head() const {
    uint64_t head;
    // Sleeps rather than yields: a real-time thread would not let the forking thread run.
    while ((head = head_.load(std::memory_order_acquire)) == kFrozen) sleep_us(50);
    return head;
  }
  static uint32_t id_in(uint64_t head) { return static_cast<uint32_t>(head); }
  static Magazine* at(uint32_t id) {
    return reinterpret_cast<Magazine*>(base_ + uintptr_t{id} * kMagazineGranule);
  }
  static uint32_t id_of(const Magazine* magazine) {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(magazine) - base_) /
                                 kMagazineGranule);
  }
  static uint32_t depth_at(uint64_t head) {
    return id_in(head) == 0 ? 0 : at(id_in(head))->depth.load(std::memory_order_relaxed);
  }
  static uint32_t objects_at(uint64_t head) {
    return id_in(head) == 0 ? 0 : at(id_in(head))->all.load(std::memory_order_relaxed);
  }

  static inline constinit uintptr_t base_ = 0;

  std::atomic<uint64_t> head_ = 0;
  std::atomic<uint64_t> frozen_head_ = 0;  // the head before freeze()
  LowWater low_;
};

// ShardedStack: a MagazineStack in kShards parts, so that threads that exchange magazines at the
// same time seldom share a cache line.
//
// Every thread has a home, a number below kShards. It pushes and pops there; when its home is empty
// it takes from the others, neighbours first: home ^ 1, then the rest of its four, then the other
// four. So a magazine stays near the thread that gave it, and nobody goes without while there is
// one anywhere. Each part is LIFO. Any thread, no lock; but only one thread at a time may handle
// idle magazines, which leave part by part.
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
