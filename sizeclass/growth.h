// SPDX-License-Identifier: MIT
// Growth: when free memory in some classes should make room for others.
//
// By time alone, free memory waits an interval or two (ageing.h); a program that fills one class
// after another then needs the sum of their peaks. So opening slabs ages free memory too: a tick
// ends when the opened slabs amount to a sixteenth of what waits. Memory that nobody needed for
// some ticks then goes, whatever the clock says.
//
// Programs that go to and fro between classes soon want that memory back, at 2 us for each page
// that is purged and opened again: half a millisecond per MiB. So reopening is paid from a budget
// that grows with time, 2 % of it; when it is empty, only time counts. It also pays for objects on
// their way from the depot to their slabs, because they may never reach the system, and for memory
// outside the heap. A program that fills each class once pays next to nothing.
//
// But no budget excuses slabs of twice the size of everything that ever lived at once: a program
// that returns to a class much later would add up all peaks, for ever. While that is so, ticks take
// effect anyway, and are shorter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/budget.h"

namespace pktmalloc {

class Growth {
 public:
  // A long interval asks to keep memory: it makes ticks longer in proportion.
  void start(uint64_t interval_ms) { patience_ = std::max<uint64_t>(interval_ms / 1000, 1); }

  // A slab was opened, for the first time or after a purge; any thread.
  void opened(size_t bytes) { opened_.fetch_add(bytes, std::memory_order_relaxed); }
  void opened_again(size_t bytes) {
    again_.fetch_add(bytes, std::memory_order_relaxed);
    opened(bytes);
  }

  // Slabs were purged; any thread.
  void purged(size_t bytes) { purged_.fetch_add(bytes, std::memory_order_release); }

  // In open slabs; any thread.
  uint64_t open_bytes() const {
    const uint64_t purged = purged_.load(std::memory_order_acquire);  // first: the other overtakes
    return opened_.load(std::memory_order_relaxed) - purged;
  }

  // Is a tick over when this many bytes wait? Any thread.
  bool due(uint64_t waiting) const {
    const uint64_t least = waiting < kWaitingLeast ? kNothingWaits : kTickLeast;
    const uint64_t ticked = ticked_.load(std::memory_order_acquire);  // first: the other overtakes
    const uint64_t grown = opened_.load(std::memory_order_relaxed) - ticked;
    const uint64_t part = too_much_.load(std::memory_order_relaxed) ? 64 : 16;
    return grown >= std::max(least, waiting / part) * patience_;
  }

  // Begins the next tick; `held` is the bytes of objects outside slabs and depots. False: the
  // budget is used up, and this tick is to have no effect. This and spend: one thread at a time.
  bool tick(uint64_t now_ms, uint64_t held) {
    ticked_.store(opened_.load(std::memory_order_relaxed), std::memory_order_release);
    const uint64_t again = again_.load(std::memory_order_relaxed);
    const uint64_t later = std::max(now_ms, at_ms_);  // a caller may have been late
    budget_.earn(kIncome, later - at_ms_);
    // If much comes back at once, after the night, the budget must not stay empty for long.
    budget_.spend(static_cast<int64_t>(again - paid_), kIncome.most);
    paid_ = again;
    at_ms_ = later;
    most_held_ = std::max(most_held_, held);
    const bool too_much = open_bytes() > std::max(2 * most_held_, kNothingWaits);
    too_much_.store(too_much, std::memory_order_relaxed);
    return budget_.any() || too_much;
  }

  // Charges for objects that go back to their slabs and for time, as the bytes that cost as much.
  void spend_objects(uint64_t count) {
    budget_.spend(static_cast<int64_t>(count) * kBytesPerObject);
  }
  void spend_us(uint64_t us) { budget_.spend(static_cast<int64_t>(us) * kBytesPerUs); }

 private:
  static constexpr uint64_t kTickLeast = uint64_t{512} << 10;
  static constexpr uint64_t kWaitingLeast = uint64_t{1} << 20;
  // Below this a look is most likely in vain, except for what waits elsewhere (Ageing::on_tick).
  static constexpr uint64_t kNothingWaits = uint64_t{4} << 20;
  static constexpr Budget::Income kIncome{.per_ms = int64_t{40} << 10, .most = int64_t{128} << 20};
  static constexpr int64_t kBytesPerObject = 16;  // 7 ns to return to its slab
  // Time to purge; reopening takes six times as long.
  static constexpr int64_t kBytesPerUs = int64_t{14} << 10;

  uint64_t patience_ = 1;
  std::atomic<uint64_t> opened_ = 0;  // bytes since start
  std::atomic<uint64_t> again_ = 0;   // of these, opened again
  std::atomic<uint64_t> purged_ = 0;  // bytes since start
  std::atomic<uint64_t> ticked_ = 0;  // opened_ when the tick began
  uint64_t paid_ = 0;                 // the part of again_ already paid for
  Budget budget_;                     // bytes
  uint64_t at_ms_ = 0;
  uint64_t most_held_ = 0;  // at the end of a tick
  std::atomic<bool> too_much_ = false;
};

}  // namespace pktmalloc
