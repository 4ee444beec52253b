// SPDX-License-Identifier: MIT
// Window: the low-water mark as a list of lows, one per tick, and nothing clever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "sizeclass/low_water.h"

namespace pktmalloc::test {

class Window {
 public:
  // The level fell, or may have.
  void record(uint32_t level) { lows_.back() = std::min(lows_.back(), level); }

  uint32_t tick(uint32_t level) {
    record(level);
    const uint32_t unneeded = *std::min_element(lows_.begin(), lows_.end());
    for (uint32_t& low : lows_) low -= unneeded;
    lows_.push_back(level - unneeded);
    lows_.pop_front();
    return unneeded;
  }

 private:
  // The last is the tick that runs.
  std::deque<uint32_t> lows_ = std::deque<uint32_t>(LowWater::kTicks, 0);
};

}  // namespace pktmalloc::test
