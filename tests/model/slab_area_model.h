// SPDX-License-Identifier: MIT
// SlabAreaModel: what a slab area must do, as sets of object numbers. It foretells every answer
// exactly: which objects, in which order, which slabs are purged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/model/window.h"

namespace pktmalloc::test {

class SlabAreaModel {
 public:
  SlabAreaModel(uint32_t slabs, uint32_t per_slab, uint32_t slabs_in_piece)
      : per_slab_(per_slab), slabs_in_piece_(slabs_in_piece), slabs_(slabs) {}

  // {slab, object} in the order in which they are to be popped.
  std::vector<std::pair<uint32_t, uint32_t>> fill(uint32_t want) {
    std::vector<std::pair<uint32_t, uint32_t>> taken;
    while (taken.size() < want) {
      const uint32_t number = slab_to_fill();
      if (number == kNone) break;
      Slab& slab = slabs_[number];
      const bool was_empty = slab.state == kEmpty;
      while (taken.size() < want && !slab.free.empty()) {
        taken.emplace_back(number, *slab.free.begin());
        slab.free.erase(slab.free.begin());
      }
      slab.state = slab.free.empty() ? kFull : kPartial;
      if (was_empty) window_.record(count(kEmpty));
    }
    filled += taken.size();
    return taken;
  }

  void drain(uint32_t number, uint32_t object) {
    Slab& slab = slabs_[number];
    slab.free.insert(object);
    slab.state = slab.free.size() == per_slab_ ? kEmpty : kPartial;
    ++drained;
  }

  uint32_t tick() { return window_.tick(count(kEmpty)); }

  uint32_t purge_some(uint32_t most) {
    uint32_t high = static_cast<uint32_t>(slabs_.size());
    while (high > 0 && slabs_[high - 1].state != kEmpty) --high;
    uint32_t purged = 0;
    const uint32_t begin = high == 0 ? 0 : (high - 1) / slabs_in_piece_ * slabs_in_piece_;
    while (purged < most && high - purged > begin && slabs_[high - 1 - purged].state == kEmpty) {
      slabs_[high - 1 - purged].state = kPurged;
      ++purged;
    }
    window_.remove(purged);
    return purged;
  }

  uint32_t empty_slabs() const { return count(kEmpty); }
  uint32_t purged_slabs() const { return count(kPurged); }
  uint32_t used_slabs() const { return static_cast<uint32_t>(slabs_.size()) - count(kFresh); }
  uint64_t free_objects() const {
    uint64_t objects = 0;
    for (const Slab& slab : slabs_) {
      if (slab.state == kPartial || slab.state == kEmpty) objects += slab.free.size();
    }
    return objects;
  }
  bool is_free(uint32_t number, uint32_t object) const {
    const Slab& slab = slabs_[number];
    return slab.state == kPurged || slab.state == kFresh || slab.free.count(object) != 0;
  }

  uint64_t filled = 0, drained = 0;

 private:
  enum State { kFresh, kFull, kPartial, kEmpty, kPurged };
  struct Slab {
    State state = kFresh;
    std::set<uint32_t> free;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t count(State state) const {
    return static_cast<uint32_t>(std::count_if(slabs_.begin(), slabs_.end(),
                                               [&](auto& slab) { return slab.state == state; }));
  }

  uint32_t slab_to_fill() {
    for (const State state : {kPartial, kEmpty, kPurged, kFresh}) {
      for (uint32_t n = 0; n < slabs_.size(); ++n) {
        if (slabs_[n].state != state) continue;
        if (state == kPurged || state == kFresh) {
          for (uint32_t object = 0; object < per_slab_; ++object) slabs_[n].free.insert(object);
          slabs_[n].state = kEmpty;
        }
        return n;
      }
    }
    return kNone;
  }

  uint32_t per_slab_, slabs_in_piece_;
  std::vector<Slab> slabs_;
  Window window_;
};

}  // namespace pktmalloc::test
