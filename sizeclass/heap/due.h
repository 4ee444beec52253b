// SPDX-License-Identifier: MIT
// Due: whether a trip has more to do than to exchange magazines.
//
// Written by visits only; so between these all threads read it from their processors' caches. A
// cache holds the word that it saw at its last visit (ageing.h): another one, or the time, means
// that a visit is due. Somebody outside the process may write one byte of it, to call a thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/base/machine.h"

namespace pktmalloc {

class Due {
 public:
  // No word: a cache that holds it always goes the long way.
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t word() const { return word_.load(std::memory_order_relaxed); }
  // Has the time come to look at the clock?
  bool is_time() const { return machine::ticks() >= at_.load(std::memory_order_relaxed); }

  uint32_t tick() const { return static_cast<uint32_t>(word()); }
  void end_tick() { word_.fetch_add(1, std::memory_order_relaxed); }
  // What a cache sees at that tick.
  static uint64_t seen_at(uint64_t word) { return word & ~(kAlways | kCalled); }
  // From now on each trip goes the long way, for somebody who must see it.
  void tell_always() { word_.fetch_or(kAlways, std::memory_order_relaxed); }
  bool is_always() const { return (word() & kAlways) != 0; }
  // Is a thread called that allocates? Until one has answered, each trip goes the long way.
  bool is_called() const { return (word() & kCalled) != 0; }
  void answer() { word_.fetch_and(~kCalled, std::memory_order_relaxed); }
  // The address of a byte that is 1 to call, 0 else, and has no other use.
  uint64_t caller() const { return reinterpret_cast<uint64_t>(&word_) + kCallingByte; }
  // Of machine::ticks(): from then on a thread is to come by.
  void tell_at(uint64_t ticks) { at_.store(ticks, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kAlways = uint64_t{1} << 63;
  static constexpr unsigned kCallingByte = 6;
  static constexpr uint64_t kCalled = uint64_t{1} << (8 * kCallingByte);

  std::atomic<uint64_t> word_ = 0;  // ticks ended since start, and the two bits
  std::atomic<uint64_t> at_ = 0;
};

}  // namespace pktmalloc
