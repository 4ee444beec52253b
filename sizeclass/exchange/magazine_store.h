// SPDX-License-Identifier: MIT
// MagazineStore: where empty magazines come from and go to.
//
// Magazines are objects in slabs of their own, from a pool of their own: a write past the end of a
// program's object does not reach them, and the same code counts, ages and returns their memory.
// Between slabs and threads each size has a lock-free stack of empties, sharded like the depot's.
// Any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sizeclass/exchange/magazine.h"
#include "sizeclass/exchange/magazine_stack.h"
#include "sizeclass/slabs/slab_area.h"

namespace pktmalloc {

class MagazineStore {
 public:
  // Slabs come from the pool, where nobody else has any.
  void start(SlabPool& pool) {
    MagazineStack::use_base(pool.base());  // the map comes first, so id 0 is no magazine
    pool_ = &pool;
    for (unsigned n = 0; n < kMagazineSizes; ++n) {
      classes_[n] = ClassTable::describe(bytes_of_size(n), pool.unit_shift());
      areas_[n].mutex.set_rank(LockRank::kMagazineArea + n);
    }
  }

  // A waiting empty magazine; nullptr when there is none. Otherwise like make().
  Magazine* reuse(uint32_t capacity, unsigned home = 0) {
    Magazine* const magazine = empties_[size_for_rounds(capacity)].pop(home);
    if (magazine == nullptr) return nullptr;
    magazine->rounds = 0;
    magazine->set_capacity(capacity);
    return magazine;
  }

  // A new magazine of exactly this capacity (at most rounds_of_size(kMagazineSizes - 1)); nullptr
  // when the system refuses memory.
  Magazine* make(uint32_t capacity) {
    const uint8_t size = size_for_rounds(capacity);
    uintptr_t fresh = 0;
    if (area(size).fill(&fresh, 1) == 0) return nullptr;
    Magazine* const magazine = reinterpret_cast<Magazine*>(fresh);
    std::ranges::fill(magazine->ahead, fresh);
    std::ranges::fill(magazine->more_ahead, fresh);
    magazine->size = size;
    magazine->capacity = 0;  // slots()[1] is erased by set_capacity below
    magazine->slots()[0] = kEmptyMark;
    magazine->rounds = 0;
    magazine->set_capacity(capacity);
    return magazine;
  }

  // reuse(), else make().
  Magazine* obtain(uint32_t capacity, unsigned home = 0) {
    Magazine* const magazine = reuse(capacity, home);
    return magazine != nullptr ? magazine : make(capacity);
  }

  // Takes an empty magazine back.
  void give_back(Magazine* magazine, unsigned home = 0) {
    empties_[magazine->size].push(magazine, home);
  }

  // See MagazineStack.
  void freeze() {
    for (auto& stack : empties_) stack.freeze();
  }
  void thaw() {
    for (auto& stack : empties_) stack.thaw();
  }

  // Takes an empty magazine back to its slab: it has aged in a depot and need not age here again.
  void retire(Magazine* magazine) {
    // The next user of this memory does not know where its FULL is.
    magazine->slots()[magazine->capacity + 1U] = kEmptyMark;
    const uintptr_t object = reinterpret_cast<uintptr_t>(magazine);
    area(magazine->size).drain(&object, 1);
  }

  // For ageing: where empty magazines of a size wait. Returns an idle one to its slab; false: none.
  ShardedStack& empties(unsigned size) { return empties_[size]; }
  bool drain_one(unsigned size) {
    Magazine* const magazine = empties_[size].pop_idle();
    if (magazine != nullptr) retire(magazine);
    return magazine != nullptr;
  }
  SlabArea area(unsigned size) {
    return {areas_[size], classes_[size], *pool_, static_cast<ClassId>(size + 1)};
  }
  Mutex& mutex(unsigned size) { return areas_[size].mutex; }

 private:
  SlabPool* pool_ = nullptr;
  SizeClass classes_[kMagazineSizes]{};
  SlabArea::State areas_[kMagazineSizes];
  ShardedStack empties_[kMagazineSizes];
};

}  // namespace pktmalloc
