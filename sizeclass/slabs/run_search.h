// SPDX-License-Identifier: MIT
// RunSearch: finds the lowest units that lie in a row and are all in one set, or in either of two.
//
// It remembers how far the latest search came, so that the next one for as many or more begins
// there. Used under the lock of the sets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sizeclass/slabs/slab_set.h"

namespace pktmalloc {

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
