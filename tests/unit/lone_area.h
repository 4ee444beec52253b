// SPDX-License-Identifier: MIT
// LoneArea: a slab area with memory of its own, without the heap around it.
#pragma once

#include <algorithm>
#include <vector>

#include "sizeclass/slab_area.h"
#include "tests/unit/reservation.h"

namespace pktmalloc::test {

class LoneArea {
 public:
  LoneArea(size_t object_bytes, size_t area_bytes, unsigned slab_shift = 12)
      : shape_(ClassTable::describe(object_bytes, slab_shift)),
        objects_(area_bytes, std::max(size_t{4096}, size_t{1} << shape_.slab_shift)),
        early_(SlabArea::early_bytes(shape_)),
        late_(SlabArea::late_bytes(shape_, area_bytes)) {
    area_.start(shape_, LockRank::kArea, objects_.address(), area_bytes, early_.commit().start(),
                late_.start());
  }

  SlabArea* operator->() { return &area_; }
  const SizeClass& shape() const { return shape_; }
  uintptr_t base() const { return objects_.address(); }
  uint32_t slabs() const { return static_cast<uint32_t>(objects_.bytes() >> shape_.slab_shift); }
  uint32_t per_slab() const { return shape_.objects_per_slab; }
  uint32_t capacity() const { return slabs() * per_slab(); }
  uintptr_t object(uint32_t slab, uint32_t n) const {
    return base() + (uintptr_t{slab} << shape_.slab_shift) + uintptr_t{n} * shape_.object_bytes;
  }

  // In the order in which a magazine would pop them.
  std::vector<uintptr_t> fill(uint32_t want) {
    std::vector<uintptr_t> slots(want);
    slots.resize(area_.fill(slots.data(), want));
    std::reverse(slots.begin(), slots.end());
    return slots;
  }
  void drain(const std::vector<uintptr_t>& objects) {
    area_.drain(objects.data(), static_cast<uint32_t>(objects.size()));
  }

 private:
  SizeClass shape_;
  Reservation objects_, early_, late_;
  SlabArea area_;
};

}  // namespace pktmalloc::test
