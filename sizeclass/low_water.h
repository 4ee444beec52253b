// SPDX-License-Identifier: MIT
// LowWater: how many of a thing nobody needed lately.
//
// The level (full magazines in a depot, empty slabs in an area) is recorded whenever it falls. What
// the lowest level of the last kTicks ticks still held was not needed in that time: the working set
// of Bonwick & Adams (2001), over a sliding window so that memory waits between one window and a
// quarter more, not between one and two.
// record() may be called by any thread; a lost race keeps a slightly higher low and is mended by
// the next take. tick() is called by one thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pktmalloc {

class LowWater {
 public:
  static constexpr unsigned kTicks = 4;

  void record(uint32_t level) {
    std::atomic<uint32_t>& low = lows_[now_.load(std::memory_order_relaxed)];
    if (level < low.load(std::memory_order_relaxed)) low.store(level, std::memory_order_relaxed);
  }

  // Ends a tick at `level`. Returns how many were not needed during the whole window; the caller
  // removes that many, and they are not reported again.
  uint32_t tick(uint32_t level) {
    record(level);
    uint32_t unneeded = level;
    for (const auto& low : lows_)
      unneeded = std::min(unneeded, low.load(std::memory_order_relaxed));
    for (auto& low : lows_) {
      // Not below zero: a record() may come in between.
      const uint32_t level_then = low.load(std::memory_order_relaxed);
      low.store(level_then - std::min(level_then, unneeded), std::memory_order_relaxed);
    }
    const unsigned next = (now_.load(std::memory_order_relaxed) + 1) % kTicks;
    lows_[next].store(level - unneeded, std::memory_order_relaxed);
    now_.store(next, std::memory_order_relaxed);
    return unneeded;
  }

 private:
  std::atomic<uint32_t> lows_[kTicks]{};
  std::atomic<unsigned> now_ = 0;
};

}  // namespace pktmalloc
