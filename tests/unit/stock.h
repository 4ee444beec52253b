// SPDX-License-Identifier: MIT
// Stock: all that caches draw on, without the heap around it. One class per size given, from 1 on.
#pragma once

#include <initializer_list>

#include "sizeclass/heap/caches.h"
#include "sizeclass/heap/lean_trip.h"
#include "tests/unit/lone_pool.h"

namespace pktmalloc::test {

class Stock {
 public:
  // As many as fit between two multiples of 4 MiB, where units have 16 KiB.
  static constexpr uint32_t kUnits = 255;
  static constexpr unsigned kWholeShift = 22;

  explicit Stock(std::initializer_list<size_t> sizes, uint32_t units = kUnits,
                 uint32_t magazine_units = kUnits)
      : objects(units), magazines(magazine_units), units_(units) {
    classes_.use_list(sizes.begin(), static_cast<unsigned>(sizes.size()), unit_shift());
    store.start(*magazines);
    due.tell_at(~uint64_t{0});
    for (const ClassId id : classes_.ids()) {
      states_[index(id)].mutex.set_rank(LockRank::kArea + index(id));
    }
  }

  const SizeClass& shape(ClassId id) const { return classes_[id]; }
  unsigned count() const { return classes_.count(); }
  ClassIds ids() const { return classes_.ids(); }
  // Of objects, if the class has all units.
  uint64_t capacity(ClassId id) const {
    return uint64_t{units_ / shape(id).units} * shape(id).objects_per_slab;
  }
  SlabArea area(ClassId id) const { return supply.area(id); }
  // Whether the address is the start of an object of the class.
  bool is_object(ClassId id, const void* p) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p);
    return address != 0 && area(id).object_at(address) == address;
  }

  // As malloc and the heap do it, without ageing. Trips are lean where the cache saw that nothing
  // is due.
  void* allocate(Cache& cache, ClassId id) {
    if (void* object = cache.allocate(id)) return object;
    if (void* object = cache.take_lean(id, depot, due)) return object;
    return cache.allocate_slow(supply, id);
  }
  void release(Cache& cache, ClassId id, void* object) {
    if (cache.release(id, object) || cache.give_lean(id, object, depot, due)) return;
    cache.release_slow(supply, id, object);
  }

  LonePool objects, magazines;
  MagazineStore store;
  Depot depot;
  Due due;

 private:
  ClassTable classes_;
  SlabArea::State states_[kMaxClasses];
  uint32_t units_;

 public:
  Caches caches;
  const Supply supply{classes_, states_, {&*objects, &*magazines}, depot, store, caches};
};

}  // namespace pktmalloc::test
