// SPDX-License-Identifier: MIT
// LoneArea: a slab area with memory of its own, without the heap around it.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "sizeclass/slab_area.h"
#include "tests/unit/page_shift.h"
#include "tests/unit/reservation.h"

namespace pktmalloc::test {

class LoneArea {
 public:
  LoneArea(size_t object_bytes, size_t area_bytes, unsigned slab_shift = page_shift())
      : LoneArea(object_bytes, area_bytes, 1, 0, slab_shift) {}

  // In pieces, with as much that is not the area's between them, and a colour.
  LoneArea(size_t object_bytes, size_t piece_bytes, uint32_t pieces, size_t colour,
           unsigned slab_shift)
      : shape_(ClassTable::describe(object_bytes, slab_shift)),
        objects_(piece_bytes * (2 * pieces - 1), size_t{1} << shape_.slab_shift),
        place_(base(), piece_bytes,
               pieces == 1 ? 63 : static_cast<unsigned>(std::countr_zero(2 * piece_bytes)), pieces,
               colour, shape_.slab_shift),
        early_(SlabArea::early_bytes(shape_)),
        late_(SlabArea::late_bytes(shape_, slabs())) {
    area_.start(shape_, LockRank::kArea, place_, early_.commit().start(), late_.start());
  }

  SlabArea* operator->() { return &area_; }
  const SizeClass& shape() const { return shape_; }
  uintptr_t base() const { return objects_.address(); }
  uint32_t slabs() const { return place_.slabs(); }
  uint32_t slabs_in_piece() const { return place_.piece_end(0); }
  uint32_t per_slab() const { return shape_.objects_per_slab; }
  uint32_t capacity() const { return slabs() * per_slab(); }
  uintptr_t object(uint32_t slab, uint32_t n) const {
    return place_.start_of(slab) + uintptr_t{n} * shape_.object_bytes;
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
  Reservation objects_;
  AreaPlace place_;
  Reservation early_, late_;
  SlabArea area_;
};

}  // namespace pktmalloc::test
