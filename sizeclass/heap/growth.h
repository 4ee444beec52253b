// SPDX-License-Identifier: MIT
// Growth: when free objects in some classes should make room for others.
//
// By time alone, free objects wait an interval in their depots (ageing.h); a program that fills one
// class after another then needs the sum of their peaks. So taking slabs ages depots, too: a tick
// ends when the slabs that classes took amount to a 256th of what waits. What nobody needed for
// some ticks goes to its slabs, and whole slabs to the pool, where any class finds them. That takes
// no call of the system, and 7 ns an object.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pktmalloc {

class Growth {
 public:
  // Is a tick over when classes have taken so many bytes since start, and so many wait in depots?
  // Any thread.
  bool due(uint64_t taken, uint64_t waiting) const {
    const uint64_t least = waiting < kLittle ? kLittle : kTickLeast;
    const auto since = static_cast<int64_t>(taken - ticked_.load(std::memory_order_relaxed));
    return since >=
           static_cast<int64_t>(std::max(least, waiting / 256));  // a tick may have overtaken
  }
  // Begins the next tick. `used`: bytes that the pool has ever used. Are many of them new since
  // tick() last said so? One thread at a time.
  bool tick(uint64_t taken, uint64_t used) {
    ticked_.store(taken, std::memory_order_relaxed);
    if (used - used_ < kNewLeast) return false;
    used_ = used;
    return true;
  }

 private:
  static constexpr uint64_t kTickLeast = uint64_t{256} << 10;
  // Where less waits a look is most likely in vain.
  static constexpr uint64_t kLittle = uint64_t{1} << 20;
  static constexpr uint64_t kNewLeast = uint64_t{2} << 20;

  std::atomic<uint64_t> ticked_ = 0;  // bytes taken when the tick began
  uint64_t used_ = 0;
};

}  // namespace pktmalloc
