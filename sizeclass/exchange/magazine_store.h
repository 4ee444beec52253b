// SPDX-License-Identifier: MIT
// MagazineStore: where empty magazines come from and go to.
//
// Magazines are objects in slabs of their own, from a pool of their own: a write past the end of a
// program's object does not reach them, and the same code counts, ages and returns their memory.
// Between slabs and threads each size has a lock-free stack of empties, sharded like the depot's.
// Any thread.
#pragma once

#include <cstdint>

#include "sizeclass/exchange/magazine.h"
#include "sizeclass/exchange/sharded_stack.h"
#include "sizeclass/slabs/slab_area.h"

namespace pktmalloc {

class MagazineStore {
 public:
  constexpr MagazineStore() = default;

  // Slabs come from the pool, where nobody else has any.
  void start(SlabPool& pool);

  // A waiting empty magazine; nullptr when there is none. Otherwise like make().
  Magazine* reuse(uint32_t capacity, unsigned home = 0);

  // A new magazine of exactly this capacity (at most rounds_of_size(kMagazineSizes - 1)); nullptr
  // when the system refuses memory.
  Magazine* make(uint32_t capacity);

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
  void retire(Magazine* magazine);

  // For ageing: where empty magazines of a size wait. Returns an idle one to its slab; false: none.
  ShardedStack& empties(unsigned size) { return empties_[size]; }
  bool drain_one(unsigned size);
  SlabPool& pool() const { return *pool_; }
  SlabArea& area(unsigned size) { return areas_[size]; }

 private:
  SlabArea areas_[kMagazineSizes];
  SlabPool* pool_ = nullptr;
  ShardedStack empties_[kMagazineSizes];
};

}  // namespace pktmalloc
