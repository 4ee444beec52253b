// SPDX-License-Identifier: MIT
// Where pages lie in memory. The trace has virtual addresses only, and a cache beyond the first
// level is indexed by physical ones.
//
// The guest hands out its frames in the order in which pages are touched first, as a kernel does
// with much free memory. The host has scattered them, by a fixed mixing of the number: every run
// finds the same frames, and every set of a cache gets its share of them as chance gives it.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace simulated {

class Frames {
 public:
  struct Found {
    std::uint64_t guest_frame;
    bool is_new;  // the page had none before
  };

  // Of a page, or of a table, which needs a page of memory too and has a number of its own.
  Found find(std::uint64_t page) {
    const auto [place, is_new] = frames_.try_emplace(page, next_);
    next_ += is_new;
    return {place->second, is_new};
  }

  // Pages from `first` up to `last` have no frames any more. Calls gone(page) for each that had
  // one.
  template <typename Gone>
  void release(std::uint64_t first, std::uint64_t last, Gone&& gone) {
    if (last - first < frames_.size()) {
      for (std::uint64_t page = first; page < last; ++page)
        if (frames_.erase(page) != 0) gone(page);
    } else {
      std::erase_if(frames_, [&](const auto& known) {
        const bool inside = known.first >= first && known.first < last;
        if (inside) gone(known.first);
        return inside;
      });
    }
  }

  // The finaliser of splitmix64 (Steele, Lea, Flood 2014), less the bits that an address has no
  // room for. Of a million frames, two are then the same in one run of nine thousand.
  static std::uint64_t host_frame(std::uint64_t guest_frame) {
    std::uint64_t mixed = guest_frame + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return (mixed ^ (mixed >> 31)) >> 12;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;
  std::uint64_t next_ = 0;
};

}  // namespace simulated
