// SPDX-License-Identifier: MIT
// Budget: an allowance to spend, earned over time (a token bucket).
//
// It grows at a steady rate until it is full. One expense may overdraw it; time pays the debt
// first. One thread at a time.
#pragma once

#include <cstdint>

namespace pktmalloc {

class Budget {
 public:
  constexpr explicit Budget(int64_t left = 0) : left_(left) {}

  struct Income {
    int64_t per_ms;
    int64_t most;  // that can be saved
  };

  void earn(const Income& income, uint64_t ms) {
    const auto missing = static_cast<uint64_t>(income.most - left_);
    const bool full = ms > missing / static_cast<uint64_t>(income.per_ms);  // no product overflows
    left_ = full ? income.most : left_ + static_cast<int64_t>(ms) * income.per_ms;
  }

  void spend(int64_t amount) { left_ -= amount; }

  bool any() const { return left_ > 0; }

 private:
  int64_t left_;
};

}  // namespace pktmalloc
