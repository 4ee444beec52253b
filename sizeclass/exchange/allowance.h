// SPDX-License-Identifier: MIT
// Allowance: how many new magazines a class has earned.
//
// A magazine costs 8 bytes per object, an eighth of a 64-byte object, and freed memory may never be
// wanted again. So beyond a few magazines in the depot, free objects get a new magazine only when
// it would have paid before: objects went back to their slabs for want of one, and then a magazine
// was filled from the slabs again. A program that frees everything takes no memory to do so; one
// that goes up and down pays the first time and then has its magazines. Any thread, no lock; the
// counts may be off by a few, which is harmless.
#pragma once

#include <atomic>
#include <cstdint>

namespace pktmalloc {

class Allowance {
 public:
  // A magazine's objects went to their slabs for want of a new magazine.
  void refuse() { refused_.fetch_add(1, std::memory_order_relaxed); }

  // A magazine was filled from slabs.
  void refill() {
    if (take_one(refused_)) earned_.fetch_add(1, std::memory_order_relaxed);
  }

  // True: grants a new magazine.
  bool spend() { return take_one(earned_); }

 private:
  static bool take_one(std::atomic<uint32_t>& count) {
    uint32_t old = count.load(std::memory_order_relaxed);
    while (old != 0) {
      if (count.compare_exchange_weak(old, old - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  std::atomic<uint32_t> refused_ = 0, earned_ = 0;
};

}  // namespace pktmalloc
