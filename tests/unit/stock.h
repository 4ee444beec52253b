// SPDX-License-Identifier: MIT
// Stock: all that caches draw on, without the heap around it. One class per size given.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "sizeclass/cache.h"
#include "tests/unit/one_stripe.h"
#include "tests/unit/page_shift.h"
#include "tests/unit/reservation.h"

namespace pktmalloc::test {

class Stock {
 public:
  explicit Stock(std::initializer_list<size_t> sizes, size_t area_bytes = size_t{1} << 20,
                 size_t magazine_area_bytes = size_t{1} << 20, unsigned slab_shift = page_shift())
      : area_bytes_(area_bytes),
        objects_(area_bytes * sizes.size(), area_bytes),
        magazines_(magazine_area_bytes << MagazineStore::kAreasShift),
        stripes_(one_stripe(magazines_.address(), magazine_area_bytes, MagazineStore::kAreasShift)),
        store_early_(MagazineStore::early_bytes(slab_shift)),
        store_late_(MagazineStore::late_bytes(stripes_, slab_shift)) {
    classes_.use_list(sizes.begin(), static_cast<unsigned>(sizes.size()), slab_shift);
    store.start(stripes_, slab_shift, store_early_.commit().start(), store_late_.start());
    depot.start(magazines_.address() - kMagazineGranule);
    for (unsigned i = 0; i < classes_.count(); ++i) {
      const SizeClass& c = classes_[ClassId(i)];
      records_.push_back(std::make_unique<Reservation>(SlabArea::early_bytes(c)));
      records_.back()->commit();
      char* early = records_.back()->start();
      // One piece in one stripe.
      const AreaPlace place(base(ClassId(i)), area_bytes, 63, 1, 0, c.slab_shift);
      records_.push_back(std::make_unique<Reservation>(SlabArea::late_bytes(c, place.slabs())));
      areas[i].start(c, LockRank::kArea + i, place, early, records_.back()->start());
    }
  }

  uintptr_t base(ClassId id) const { return objects_.address() + index(id) * area_bytes_; }
  size_t area_bytes() const { return area_bytes_; }
  const SizeClass& shape(ClassId id) const { return classes_[id]; }
  unsigned count() const { return classes_.count(); }
  uint64_t capacity(ClassId id) const {
    return uint64_t{area_bytes_ >> shape(id).slab_shift} * shape(id).objects_per_slab;
  }
  // Whether the address is the start of an object of the class.
  bool is_object(ClassId id, const void* p) const {
    const uint64_t offset = reinterpret_cast<uintptr_t>(p) - base(id);
    if (offset >= area_bytes_) return false;
    const uint64_t in_slab = offset & ((uint64_t{1} << shape(id).slab_shift) - 1);
    return in_slab % shape(id).object_bytes == 0 &&
           in_slab / shape(id).object_bytes < shape(id).objects_per_slab;
  }

  // As the heap does it, without ageing.
  void* allocate(Cache& cache, ClassId id) {
    if (void* object = cache.allocate(id)) return object;
    return cache.allocate_slow(supply, id);
  }
  void release(Cache& cache, ClassId id, void* object) {
    if (!cache.release(id, object)) cache.release_slow(supply, id, object);
  }

  SlabArea areas[kMaxClasses];
  MagazineStore store;
  Depot depot;

 private:
  size_t area_bytes_;
  ClassTable classes_;
  Reservation objects_, magazines_;
  Stripes stripes_;
  Reservation store_early_, store_late_;
  std::vector<std::unique_ptr<Reservation>> records_;

 public:
  const Supply supply{classes_, areas, depot, store};
};

}  // namespace pktmalloc::test
