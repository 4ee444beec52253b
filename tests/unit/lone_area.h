// SPDX-License-Identifier: MIT
// LoneArea: a slab area with a pool of its own, or one that it shares with others.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "sizeclass/slabs/slab_area.h"
#include "tests/unit/lone_pool.h"

namespace pktmalloc::test {

// The object that a slab hands out first: no object before it ends behind so many of its sixteenths
// and cache lines, and its own line is whole.
inline uint32_t first_object(const SizeClass& shape, uint32_t unit, size_t unit_bytes) {
  const size_t place = unit % 16 * (shape.units * unit_bytes / 16 + 64);
  uint32_t first = 0;
  while (size_t{first} * shape.object_bytes < place) first += shape.sharers;
  return first < shape.objects_per_slab ? first : 0;
}

class LoneArea {
 public:
  LoneArea(size_t object_bytes, uint32_t units, unsigned shift = unit_shift())
      : own_(std::make_unique<LonePool>(units, HugePages::kAuto, false, shift)),
        pool(*own_),
        units_(units) {
    start(object_bytes, ClassId{1});
  }
  LoneArea(size_t object_bytes, LonePool& shared, ClassId id) : pool(shared), units_(0) {
    start(object_bytes, id);
  }

  SlabArea* operator->() { return &*area_; }
  const SizeClass& shape() const { return shape_; }
  uint32_t per_slab() const { return shape().objects_per_slab; }
  uint32_t slabs() const { return units_ / shape().units; }
  uint32_t capacity() const { return slabs() * per_slab(); }

  // The n-th one by address of a slab, where slabs follow each other from the pool's beginning.
  uintptr_t object(uint32_t slab, uint32_t n) const {
    return reinterpret_cast<uintptr_t>(pool.at(slab * shape().units)) +
           uintptr_t{n} * shape().object_bytes;
  }
  // The n-th one to be handed out of a slab none of whose objects is in use.
  uintptr_t nth(uint32_t slab, uint32_t n) const {
    const uint32_t unit = 1 + slab * shape().units;
    return object(slab, (first_object(shape(), unit, pool->unit_bytes()) + n) % per_slab());
  }
  std::vector<uintptr_t> slab(uint32_t number) const {
    std::vector<uintptr_t> all;
    for (uint32_t n = 0; n < per_slab(); ++n) all.push_back(nth(number, n));
    return all;
  }

  // In the order in which a magazine would pop them.
  std::vector<uintptr_t> fill(uint32_t want) {
    std::vector<uintptr_t> slots(want);
    slots.resize(area_->fill(slots.data(), want));
    std::reverse(slots.begin(), slots.end());
    return slots;
  }
  void drain(const std::vector<uintptr_t>& objects) {
    area_->drain(objects.data(), static_cast<uint32_t>(objects.size()));
  }

 private:
  void start(size_t object_bytes, ClassId id) {
    shape_ = ClassTable::describe(object_bytes, pool->unit_shift());
    state_.mutex.set_rank(LockRank::kArea + index(id));
    area_.emplace(state_, shape_, *pool, id);
  }

  std::unique_ptr<LonePool> own_;

 public:
  LonePool& pool;

 private:
  uint32_t units_;
  SizeClass shape_{};
  SlabArea::State state_;
  std::optional<SlabArea> area_;
};

}  // namespace pktmalloc::test
