// SPDX-License-Identifier: MIT
// SlabAreaModel: what a slab area must do, as sets of object numbers, on the model of its pool. It
// foretells every answer exactly: which objects, in which order.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/model/slab_pool_model.h"
#include "tests/unit/lone_area.h"

namespace pktmalloc::test {

class SlabAreaModel {
 public:
  SlabAreaModel(SlabPoolModel& pool, unsigned id, const SizeClass& shape, size_t unit_bytes)
      : pool_(pool), id_(id), shape_(shape), unit_bytes_(unit_bytes) {}

  // {first unit of a slab, object} in the order in which they are to be popped.
  // Of a slab, objects whose cache lines are wholly free come first.
  std::vector<std::pair<uint32_t, uint32_t>> fill(uint32_t want) {
    std::vector<std::pair<uint32_t, uint32_t>> taken;
    while (taken.size() < want) {
      uint32_t slab = lowest_partial();
      if (slab == SlabPoolModel::kNone && (slab = take_slab()) == SlabPoolModel::kNone) break;
      thinned_.erase(slab);
      std::set<uint32_t>& free = slabs_[slab];
      std::set<uint32_t> of_whole_lines;
      for (const uint32_t object : free) {
        uint32_t others = 0;
        for (uint32_t n = 0; n < shape_.sharers; ++n)
          others += free.count(object - object % shape_.sharers + n);
        if (others == shape_.sharers && shape_.sharers > 1) of_whole_lines.insert(object);
      }
      const uint32_t first = first_object(shape_, slab + 1, unit_bytes_);
      for (std::set<uint32_t>* from : {&of_whole_lines, &free}) {
        while (taken.size() < want && !from->empty()) {
          auto next = from->lower_bound(first);
          if (next == from->end()) next = from->begin();
          taken.emplace_back(slab, *next);
          from->erase(next);
          free.erase(taken.back().second);
        }
      }
    }
    filled += taken.size();
    return taken;
  }

  void drain(uint32_t slab, uint32_t object) {
    std::set<uint32_t>& free = slabs_[slab];
    free.insert(object);
    thinned_.erase(slab);
    ++drained;
    if (free.size() < shape_.objects_per_slab) return;
    slabs_.erase(slab);
    pool_.give(slab, shape_.units);
  }

  uint32_t thin_one() {
    uint32_t highest = SlabPoolModel::kNone;
    for (const auto& [slab, free] : slabs_) {
      if (!free.empty() && !thinned_.contains(slab)) highest = slab;
    }
    if (highest == SlabPoolModel::kNone) return 0;
    thinned_.insert(highest);
    return static_cast<uint32_t>(slabs_[highest].size());
  }

  uint64_t slabs() const { return slabs_.size(); }
  uint64_t free_objects() const {
    uint64_t objects = 0;
    for (const auto& [slab, free] : slabs_) objects += free.size();
    return objects;
  }

  uint64_t filled = 0, drained = 0;

 private:
  uint32_t lowest_partial() const {
    uint32_t lowest_thinned = SlabPoolModel::kNone;
    for (const auto& [slab, free] : slabs_) {
      if (free.empty()) continue;
      if (!thinned_.contains(slab)) return slab;
      if (lowest_thinned == SlabPoolModel::kNone) lowest_thinned = slab;
    }
    return lowest_thinned;
  }
  uint32_t take_slab() {
    const uint32_t slab = pool_.take(id_, shape_.units);
    if (slab == SlabPoolModel::kNone) return slab;
    for (uint32_t object = 0; object < shape_.objects_per_slab; ++object)
      slabs_[slab].insert(object);
    return slab;
  }

  SlabPoolModel& pool_;
  unsigned id_;
  SizeClass shape_;
  size_t unit_bytes_;
  std::map<uint32_t, std::set<uint32_t>> slabs_;  // free objects by first unit
  std::set<uint32_t> thinned_;
};

}  // namespace pktmalloc::test
