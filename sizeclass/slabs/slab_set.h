// SPDX-License-Identifier: MIT
// SlabSet: an ordered set of units or slabs, one bit each, by the number of the (first) unit.
//
// Its words lie where the pool keeps them (slab_pool.h), a fixed distance apart, and exist up to
// the units that have been opened. Used under a lock. lowest() and highest() scan words from a
// hint.
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

  // So many in a row, of which none is a member, at least one; those that are members.
  void insert(uint32_t unit, uint32_t units = 1) {
    const uint32_t low = unit / 64, high = (unit + units - 1) / 64;
    if (count_ == 0) low_ = low, high_ = high;
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
    count_ += units;
    each_word(unit, units, [](uint64_t& word, uint64_t bits) { word |= bits; });
  }
  void erase(uint32_t unit, uint32_t units = 1) {
    count_ += -count(unit, units);
    each_word(unit, units, [](uint64_t& word, uint64_t bits) { word &= ~bits; });
  }
  // Members among so many in a row. Inlined it would spread what runs at start over more pages.
  [[gnu::noinline]] uint32_t count(uint32_t unit, uint32_t units) const {
    uint32_t sum = 0;
    each_word(unit, units, [&](uint64_t word, uint64_t bits) {
      // As many as lie in a row at once; a popcount would be a call.
      for (bits &= word; bits != 0; bits &= bits + 1) {
        bits >>= std::countr_zero(bits);
        sum += static_cast<uint32_t>(std::countr_one(bits));
      }
    });
    return sum;
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
  // Calls visit(word, its bits of these units).
  template <typename Visit>
  void each_word(uint32_t unit, uint32_t units, Visit visit) const {
    for (const uint32_t end = unit + units; unit < end;) {
      const uint32_t next = std::min((unit / 64 + 1) * 64, end);
      visit(word(unit / 64), ~uint64_t{0} >> (64 - (next - unit)) << unit % 64);
      unit = next;
    }
  }
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
// It remembers how far the latest search came, for each doubling of how many, so that the next one
// for as many or more begins there. Used under the lock of the sets.
class RunSearch {
 public:
  // The first of so many, at least one; SlabSet::kNone: nowhere below `end`. Always of the same
  // sets, or of the same one twice.
  uint32_t lowest(uint32_t units, SlabSet& set, SlabSet& other, uint32_t end) {
    const uint32_t words = (end + 63) / 64;
    const auto both = [&](uint32_t word) { return set.bits(word) | other.bits(word); };
    const uint32_t least = std::min(set.lowest(), other.lowest()) / 64;
    Latest& latest = latest_[std::min<size_t>(std::bit_width(units), std::size(latest_)) - 1];
    uint32_t w = units >= latest.units ? std::max(least, latest.word) : least;
    while (w > least && w < words && both(w) == ~uint64_t{0}) --w;  // where the run begins
    uint32_t found = SlabSet::kNone;
    uint32_t run = 0;  // units in a row at the end of the words before
    for (; w < words && found == SlabSet::kNone; ++w) {
      uint64_t bits = both(w);
      if (run + static_cast<uint32_t>(std::countr_one(bits)) >= units) found = w * 64 - run;
      run = bits == ~uint64_t{0} ? run + 64 : static_cast<uint32_t>(std::countl_one(bits));
      if (units > 64 || found != SlabSet::kNone) continue;
      // A bit stays where so many begin in a row.
      for (uint32_t have = 1; have < units && bits != 0;) {
        const uint32_t more = std::min(have, units - have);
        bits &= bits >> more;
        have += more;
      }
      if (bits != 0) found = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    }
    latest = {units, found != SlabSet::kNone ? found / 64 : words};
    return found;
  }

  // The unit came to a set: a run that is longer now may begin in the word before.
  void note_longer(uint32_t unit) {
    const uint32_t word = unit / 64 - (unit >= 64 ? 1 : 0);
    for (Latest& latest : latest_) latest.word = std::min(latest.word, word);
  }

 private:
  struct Latest {
    uint32_t units = 0, word = 0;  // for how many, and the word before which none began
  };
  Latest latest_[10];
};

}  // namespace pktmalloc
