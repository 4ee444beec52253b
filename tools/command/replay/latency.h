// SPDX-License-Identifier: MIT
// Latency of single calls, in ticks of the processor's clock (ticks.h), as the benchmark of tail
// latency takes it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tools/command/replay/plan.h"

namespace pktmalloc {

// Log-linear: 64 buckets for each doubling, so a value is told at most 1.6 % too high.
class Cycles {
 public:
  void record(uint64_t cycles) {
    ++buckets_[bucket_of(std::min(cycles, kMost))];
    ++count_;
  }

  void add(const Cycles& other) {
    for (unsigned i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
  }

  // The cycles that this share of all calls did not exceed.
  uint64_t percentile(double share) const {
    uint64_t seen = 0;
    for (unsigned i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(count_)) {
        return last_of(i);
      }
    }
    return 0;
  }

 private:
  static constexpr unsigned kLinearBits = 7;  // values below 128 have a bucket each
  static constexpr unsigned kHalf = 1u << (kLinearBits - 1);
  static constexpr unsigned kBits = 40;  // minutes
  static constexpr uint64_t kMost = (uint64_t{1} << kBits) - 1;
  static constexpr unsigned kBuckets = (kBits - kLinearBits + 2) * kHalf;

  static unsigned bucket_of(uint64_t value) {
    if (value < 2 * kHalf) return static_cast<unsigned>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kLinearBits;
    return shift * kHalf + static_cast<unsigned>(value >> shift);
  }
  static uint64_t last_of(unsigned bucket) {
    if (bucket < 2 * kHalf) return bucket;
    const unsigned shift = bucket / kHalf - 1;
    return ((uint64_t{bucket} - shift * kHalf + 1) << shift) - 1;
  }

  uint64_t count_ = 0;
  uint64_t buckets_[kBuckets] = {};
};

}  // namespace pktmalloc
