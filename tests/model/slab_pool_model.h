// SPDX-License-Identifier: MIT
// SlabPoolModel: what a pool must do, as a list of units that is searched from its beginning. It
// foretells every answer exactly, but knows nothing of huge pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/model/window.h"

namespace pktmalloc::test {

class SlabPoolModel {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  enum State { kFresh, kEmpty, kPurged, kOwned };
  struct Unit {
    State state = kFresh;
    unsigned owner = 0;  // and who had it last; a block has no owner
    uint32_t back = 0;
  };

  // At most `purged_at_once` go in a purge; at most `limit` are owned or empty, if there is one.
  SlabPoolModel(uint32_t units, uint32_t purged_at_once, uint32_t limit = kNone)
      : units_(units), purged_at_once_(purged_at_once), limit_(limit) {}

  // The first unit.
  uint32_t take(unsigned owner, uint32_t count) {
    uint32_t first = lowest_run(count, [](State state) { return state == kEmpty; });
    if (first == kNone) {
      first = lowest_run(count, [](State state) { return state == kEmpty || state == kPurged; });
    }
    if (first == kNone) first = end_of_owned();
    if (first + count > units_.size()) return kNone;
    uint32_t more = 0;
    for (uint32_t n = 0; n < count; ++n) more += units_[first + n].state != kEmpty;
    if (limit_ != kNone && open() + more > limit_) return kNone;
    clean = true;
    for (uint32_t n = 0; n < count; ++n) {
      Unit& unit = units_[first + n];
      clean &= unit.state != kEmpty;
      unit = {kOwned, owner, n};
    }
    window_.record(count_of(kEmpty));
    taken += owner != 0 ? count : more;
    return first;
  }
  bool clean = false;  // nothing of what take() gave last was empty

  void give(uint32_t first, uint32_t count) {
    for (uint32_t n = 0; n < count; ++n) units_[first + n].state = kEmpty;
  }

  // A block that has so many units; false: it stays as it is.
  bool resize(uint32_t first, uint32_t had, uint32_t count) {
    if (count <= had) return give(first + count, had - count), true;
    if (first + count > units_.size()) return false;
    uint32_t more = 0;
    for (uint32_t n = had; n < count; ++n) {
      if (units_[first + n].state == kOwned) return false;
      more += units_[first + n].state != kEmpty;
    }
    if (limit_ != kNone && open() + more > limit_) return false;
    for (uint32_t n = had; n < count; ++n) units_[first + n] = {kOwned, 0, n};
    window_.record(count_of(kEmpty));
    taken += more;
    return true;
  }

  uint32_t purge_some(uint32_t most) {
    uint32_t end = static_cast<uint32_t>(units_.size());
    while (end > 0 && units_[end - 1].state != kEmpty) --end;
    uint32_t count = 0;
    for (; count < std::min(most, purged_at_once_) && count < end; ++count) {
      if (units_[end - 1 - count].state != kEmpty) break;
      units_[end - 1 - count].state = kPurged;
    }
    window_.remove(count);
    purged += count;
    return count;
  }

  uint32_t tick() { return window_.tick(count_of(kEmpty)); }

  void decommit() {
    for (uint32_t end = used(); end > 0 && units_[end - 1].state == kPurged; --end) {
      units_[end - 1] = {};
    }
  }

  const Unit& operator[](uint32_t unit) const { return units_[unit]; }
  uint32_t size() const { return static_cast<uint32_t>(units_.size()); }
  uint32_t empty() const { return count_of(kEmpty); }
  uint32_t open() const { return count_of(kEmpty) + count_of(kOwned); }
  uint32_t used() const { return size() - count_of(kFresh); }
  uint32_t empty_of(unsigned owner) const {
    return count([=](auto& unit) { return unit.state == kEmpty && unit.owner == owner; });
  }
  uint64_t taken = 0, purged = 0;

 private:
  template <typename Counts>
  uint32_t count(Counts counts) const {
    return static_cast<uint32_t>(std::count_if(units_.begin(), units_.end(), counts));
  }
  uint32_t count_of(State state) const {
    return count([=](auto& unit) { return unit.state == state; });
  }

  uint32_t end_of_owned() const {
    uint32_t end = size();
    while (end > 0 && units_[end - 1].state != kOwned) --end;
    return end;
  }

  template <typename Serves>
  uint32_t lowest_run(uint32_t wanted, Serves serves) const {
    uint32_t run = 0;
    for (uint32_t n = 0; n < size(); ++n) {
      run = serves(units_[n].state) ? run + 1 : 0;
      if (run == wanted) return n + 1 - wanted;
    }
    return kNone;
  }

  std::vector<Unit> units_;
  uint32_t purged_at_once_, limit_;
  Window window_;
};

}  // namespace pktmalloc::test
