// SPDX-License-Identifier: MIT
// SlabSet: an ordered set of units or slabs, one bit each, by the number of the (first) unit.
//
// Its words lie where the pool keeps them (slab_pool.h), a fixed distance apart, and exist up to
// the units that have been opened. Used under a lock. lowest() and highest() scan words from a
// hint; at 64 units a word even 100 GiB take a few microseconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/owned.h"

namespace pktmalloc {

class SlabSet {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `words`: of unit 0, all zero, each `stride` bytes after the one before.
  void use(void* words, size_t stride) {
    words_ = static_cast<char*>(words);
    stride_ = stride;
  }

  void insert(uint32_t unit) {
    const uint32_t w = unit / 64;
    if (count_ == 0) low_ = high_ = w;
    count_ += 1;
    if (w < low_) low_ = w;
    if (w > high_) high_ = w;
    word(w) |= bit(unit);
  }
  void erase(uint32_t unit) {
    word(unit / 64) &= ~bit(unit);
    --count_;
  }
  uint32_t lowest() {
    if (count_ == 0) return kNone;
    while (word(low_) == 0) ++low_;
    return low_ * 64 + static_cast<uint32_t>(std::countr_zero(word(low_)));
  }
  // Below `end`, if that is told.
  uint32_t highest(uint32_t end = kNone) {
    if (count_ == 0 || end == 0) return kNone;
    while (word(high_) == 0) --high_;
    uint32_t w = std::min((end - 1) / 64, high_);
    if (w < low_) return kNone;
    uint64_t bits = word(w);
    if (end - w * 64 < 64) bits &= bit(end) - 1;
    while (bits == 0) {
      if (w == low_) return kNone;
      bits = word(--w);
    }
    return w * 64 + 63 - static_cast<uint32_t>(std::countl_zero(bits));
  }
  bool contains(uint32_t unit) const { return (word(unit / 64) & bit(unit)) != 0; }
  // Takes no lock.
  uint32_t count() const { return count_.seen(); }
  // Of units 64 * w and up.
  uint64_t bits(uint32_t w) const { return word(w); }

 private:
  static uint64_t bit(uint32_t unit) { return uint64_t{1} << (unit % 64); }
  uint64_t& word(uint32_t w) const {
    return *reinterpret_cast<uint64_t*>(words_ + size_t{w} * stride_);
  }

  char* words_ = nullptr;
  size_t stride_ = 0;
  Owned<uint32_t> count_ = 0;
  uint32_t low_ = 0;   // words below have no member
  uint32_t high_ = 0;  // words above have no member
};

// RunSearch: finds the lowest units that lie in a row and are all in one set, or in either of two.
//
// It remembers how far the latest search came, so that the next one for as many or more begins
// there. Used under the lock of the sets.
class RunSearch {
 public:
  // The first of so many, at least one; SlabSet::kNone: nowhere below `end`. Always of the same
  // sets, or of the same one twice.
  uint32_t lowest(uint32_t units, SlabSet& set, SlabSet& other, uint32_t end) {
    const uint32_t words = (end + 63) / 64;
    uint32_t w = std::min(set.lowest(), other.lowest()) / 64;
    if (units >= units_) w = std::max(w, word_);
    units_ = units;
    const auto found = [this](uint32_t unit) {
      word_ = unit / 64;
      return unit;
    };
    uint32_t run = 0;  // units in a row at the end of the words before
    for (; w < words; ++w) {
      uint64_t bits = set.bits(w) | other.bits(w);
      if (run + static_cast<uint32_t>(std::countr_one(bits)) >= units) return found(w * 64 - run);
      run = bits == ~uint64_t{0} ? run + 64 : static_cast<uint32_t>(std::countl_one(bits));
      // A bit stays where so many begin in a row.
      for (uint32_t have = 1; have < units && bits != 0;) {
        const uint32_t more = std::min(have, units - have);
        bits &= bits >> more;
        have += more;
      }
      if (bits != 0) return found(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
    word_ = words;
    return SlabSet::kNone;
  }

  // The unit came to a set: a run that is longer now may begin in the word before.
  void note_longer(uint32_t unit) { word_ = std::min(word_, unit / 64 - (unit >= 64 ? 1 : 0)); }

 private:
  uint32_t units_ = 0;  // the latest search: for how many, and the word
  uint32_t word_ = 0;   // before which none began
};

}  // namespace pktmalloc
