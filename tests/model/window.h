// SPDX-License-Identifier: MIT
// Window: the low-water mark as a list of lows, one per tick, and nothing clever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "sizeclass/base/low_water.h"

namespace pktmalloc::test {

class Window {
 public:
  // The level fell, or may have.
  void record(uint32_t level) { lows_.back() = std::min(lows_.back(), level); }

  uint32_t tick(uint32_t level) {
    record(level);
    const uint32_t unneeded = lowest();
    lows_.push_back(level);
    lows_.pop_front();
    return unneeded;
  }

  uint32_t lowest() const { return *std::min_element(lows_.begin(), lows_.end()); }

  // Nobody asked for anything.
  void forget(uint32_t level) { std::fill(lows_.begin(), lows_.end(), level); }

  // Nobody asked for them.
  void remove(uint32_t count) {
    for (uint32_t& low : lows_) low -= std::min(low, count);
  }

 private:
  // The last is the tick that runs.
  std::deque<uint32_t> lows_ = std::deque<uint32_t>(LowWater::kTicks, 0);
};

}  // namespace pktmalloc::test
