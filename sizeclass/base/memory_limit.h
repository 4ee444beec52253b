// SPDX-License-Identifier: MIT
// MemoryLimit: how much memory may be in use, and how much is. Whoever takes memory from the system
// asks first, and says when it went back.
//
// Above the hard limit nothing is granted: who is refused gives back what lies free and asks again.
// Above the soft limit free memory is to go back at once. Without a limit nothing is counted. The
// count is an upper bound: an open slab counts as a whole, whether or not its pages were touched.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pktmalloc {

// Subtracts so much, or all there is. Returns how much.
inline uint64_t subtract_at_most(std::atomic<uint64_t>& from, uint64_t n) {
  uint64_t before = from.load(std::memory_order_relaxed);
  while (before != 0 && !from.compare_exchange_weak(before, before - std::min(before, n),
                                                    std::memory_order_relaxed)) {
  }
  return std::min(before, n);
}

class MemoryLimit {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  // Bytes. Where they lie, for a reader outside the process (heap_window.h).
  struct Counts {
    uint64_t hard = 0;
    uint64_t soft = 0;
    std::atomic<uint64_t> used = 0;
  };
  const Counts& counts() const { return counts_; }

  // Before anything is taken, and before there is a second thread.
  void set(uint64_t hard, uint64_t soft) {
    counts_.hard = hard;
    counts_.soft = std::min(soft, hard);
    is_limited_ = counts_.soft != kNone;
  }

  bool is_limited() const { return is_limited_; }
  uint64_t hard() const { return counts_.hard; }

  // The rest is for any thread.

  // False: nothing is taken.
  bool take(uint64_t bytes) {
    if (!is_limited()) return true;
    uint64_t before = used();
    do {
      if (bytes > left(before)) return false;
    } while (
        !counts_.used.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }
  // What is in use already.
  void add(uint64_t bytes) {
    if (is_limited()) counts_.used.fetch_add(bytes, std::memory_order_relaxed);
  }
  // Never falls below zero.
  void give(uint64_t bytes) {
    if (is_limited()) subtract_at_most(counts_.used, bytes);
  }

  uint64_t used() const { return counts_.used.load(std::memory_order_relaxed); }
  uint64_t left() const { return left(used()); }
  bool is_tight() const { return is_limited() && used() > counts_.soft; }

 private:
  uint64_t left(uint64_t used) const { return counts_.hard - std::min(counts_.hard, used); }

  Counts counts_;
  bool is_limited_ = false;
};

}  // namespace pktmalloc
