// SPDX-License-Identifier: MIT
// SlabSet: an ordered set of slab numbers, one bit each.
//
// Used under the area's lock. The first 64 bits lie in the object itself, so a class with few slabs
// needs no more memory; the rest lie in words that the area commits when it grows past them.
// lowest() and highest() scan words from a hint; at 64 slabs a word even 100 GiB take a few
// microseconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sizeclass/owned.h"

namespace pktmalloc {

class SlabSet {
 public:
  static constexpr uint32_t kInlineSlabs = 64;
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `rest` holds the bits of slabs 64 and up, all zero, in every `stride`-th word; none is touched
  // until such a slab is inserted.
  void use(Owned<uint64_t>* rest, uint32_t stride) {
    rest_ = rest;
    stride_ = stride;
  }

  void insert(uint32_t slab) {
    const uint32_t w = slab / 64;
    word(w) = word(w) | bit(slab);
    if (count_++ == 0) low_ = high_ = w;
    if (w < low_) low_ = w;
    if (w > high_) high_ = w;
  }
  void erase(uint32_t slab) {
    Owned<uint64_t>& bits = word(slab / 64);
    bits = bits & ~bit(slab);
    --count_;
  }
  uint32_t lowest() {
    if (count_ == 0) return kNone;
    while (word(low_) == 0) ++low_;
    return low_ * 64 + static_cast<uint32_t>(std::countr_zero<uint64_t>(word(low_)));
  }
  // The lowest one that is not below `slab`.
  uint32_t lowest_from(uint32_t slab) {
    const uint32_t high = highest();
    if (high == kNone) return kNone;
    for (slab = std::max(slab, lowest()); slab <= high; ++slab) {
      if (contains(slab)) return slab;
    }
    return kNone;
  }
  uint32_t highest() {
    if (count_ == 0) return kNone;
    while (word(high_) == 0) --high_;
    return high_ * 64 + 63 - static_cast<uint32_t>(std::countl_zero<uint64_t>(word(high_)));
  }
  // Without the lock too: an old answer or a new one.
  bool contains(uint32_t slab) const { return (word(slab / 64).seen() & bit(slab)) != 0; }
  uint32_t count() const { return count_; }

 private:
  static uint64_t bit(uint32_t slab) { return uint64_t{1} << (slab % 64); }
  Owned<uint64_t>& word(uint32_t w) { return w == 0 ? first_ : rest_[size_t{w - 1} * stride_]; }
  const Owned<uint64_t>& word(uint32_t w) const { return const_cast<SlabSet*>(this)->word(w); }

  Owned<uint64_t> first_ = 0;  // who holds the lock owns the words
  Owned<uint64_t>* rest_ = nullptr;
  uint32_t stride_ = 1;
  uint32_t count_ = 0;
  uint32_t low_ = 0;   // words below have no member
  uint32_t high_ = 0;  // words above have no member
};

}  // namespace pktmalloc
