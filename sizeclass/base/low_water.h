// SPDX-License-Identifier: MIT
// LowWater: how many of a thing nobody needed lately.
//
// It records the level (full magazines in a depot, empty units in a pool) whenever it falls.
// Nobody needed the lowest level of the last kTicks ticks: this is the working set of Bonwick &
// Adams (2001), over a sliding window, so that memory waits one window to one and a quarter, not
// one to two. remove() reports unneeded items that left: the marks fall with the level, without
// counting as need. Any thread may call record(); a lost race leaves a mark that is off by a few
// until the next take mends it. Only one thread at a time may call the other functions that write
// marks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pktmalloc {

class LowWater {
 public:
  static constexpr unsigned kTicks = 4;
  // So many ticks at once: all that is there now is unneeded.
  static constexpr unsigned kAllTicks = kTicks + 1;

  void record(uint32_t level) {
    std::atomic<uint32_t>& low = lows_[now_.load(std::memory_order_relaxed)];
    if (level < low.load(std::memory_order_relaxed)) low.store(level, std::memory_order_relaxed);
  }

  // Ends a tick at `level`. Returns how many were not needed during the whole window, including
  // those reported before and not removed.
  uint32_t tick(uint32_t level) {
    record(level);
    const uint32_t unneeded = lowest();
    const unsigned next = (now_.load(std::memory_order_relaxed) + 1) % kTicks;
    lows_[next].store(level, std::memory_order_relaxed);
    now_.store(next, std::memory_order_relaxed);
    return unneeded;
  }

  // Not needed in the window so far.
  uint32_t lowest() const {
    uint32_t lowest = ~uint32_t{0};
    for (const auto& low : lows_) lowest = std::min(lowest, low.load(std::memory_order_relaxed));
    return lowest;
  }

  // Lowers the level by this many that nobody asked for.
  void remove(uint32_t count) {
    for (auto& low : lows_) {
      const uint32_t before = low.load(std::memory_order_relaxed);
      low.store(before - std::min(before, count), std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<uint32_t> lows_[kTicks]{};
  std::atomic<unsigned> now_ = 0;
};

}  // namespace pktmalloc
