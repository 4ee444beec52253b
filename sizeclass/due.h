// SPDX-License-Identifier: MIT
// Due: whether a trip has more to do than to exchange magazines.
//
// Written by visits only; so between these all threads read it from their processors' caches. A
// cache holds the word that it saw at its last visit (ageing.h): another one, or the time, means
// that a visit is due.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/machine.h"

namespace pktmalloc {

class Due {
 public:
  // No word: a cache that holds it always goes the long way.
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  // Is it the word that the cache saw, and no time to look at the clock?
  bool is_seen(uint64_t seen) const {
    return seen == word() && machine::ticks() < at_.load(std::memory_order_relaxed);
  }

  uint32_t tick() const { return static_cast<uint32_t>(word()); }
  void end_tick() { word_.fetch_add(1, std::memory_order_relaxed); }
  // What a cache sees at that tick.
  static uint64_t seen_at(uint64_t word) { return word & ~kAlways; }
  // From now on each trip goes the long way, for somebody who must see it.
  void tell_always() { word_.fetch_or(kAlways, std::memory_order_relaxed); }
  bool is_always() const { return (word() & kAlways) != 0; }
  // Of machine::ticks(): from then on a thread is to come by.
  void tell_at(uint64_t ticks) { at_.store(ticks, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kAlways = uint64_t{1} << 63;

  std::atomic<uint64_t> word_ = 0;  // ticks ended since start, and kAlways
  std::atomic<uint64_t> at_ = 0;
};

}  // namespace pktmalloc
