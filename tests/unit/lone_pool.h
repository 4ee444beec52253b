// SPDX-License-Identifier: MIT
// LonePool: a pool with addresses of its own, without the heap around it. Its units are small, so
// that it reaches its boundaries soon: four pages where a page has 4 KiB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "sizeclass/base/memory.h"
#include "sizeclass/slabs/slab_pool.h"

namespace pktmalloc::test {

// A unit goes back to the system by itself, so it is a page at the least.
inline unsigned unit_shift() {
  return std::max(14U, static_cast<unsigned>(std::countr_zero(memory::page_bytes())));
}

class LonePool {
 public:
  explicit LonePool(uint32_t units, HugePages huge_pages = HugePages::kAuto, bool zeroes = false,
                    unsigned shift = unit_shift()) {
    const size_t most = (units + size_t{1}) << shift;  // the map takes one
    const size_t alignment = std::max(size_t{4} << 20, memory::huge_page_bytes());
    const size_t room = round_up(most, alignment) + alignment;
    // The same room for all, lest one begin within another's.
    place_ = memory::find_room(kRoom, alignment, memory::page_bytes(), alignment);
    const uintptr_t begin = place_ + alignment;
    SlabPool::Config config{
        .begin = begin, .most = most, .records = begin + room, .bytes = &bytes_};
    config.unit_shift = shift;
    config.huge_pages = huge_pages;
    config.zeroes = zeroes;
    pool_.start(config, limit);
    if (place_ == 0 || pool_.first_unit() != 1) abort();
  }
  ~LonePool() { memory::release(reinterpret_cast<void*>(place_), kRoom); }
  LonePool(const LonePool&) = delete;
  LonePool& operator=(const LonePool&) = delete;

  SlabPool* operator->() { return &pool_; }
  const SlabPool* operator->() const { return &pool_; }
  SlabPool& operator*() { return pool_; }

  // Units are counted from 0 here: the map's is left out.
  static constexpr uint32_t kNone = SlabPool::kNone;
  uint32_t take(ClassId id, uint32_t units = 1) {
    const uint32_t unit = pool_.take(id, units).unit;
    return unit == kNone ? kNone : unit - 1;
  }
  void give(ClassId id, uint32_t unit, uint32_t units = 1) { pool_.give(id, unit + 1, units); }
  char* at(uint32_t unit) const { return reinterpret_cast<char*>(pool_.start_of(1 + unit)); }
  size_t unit_bytes() const { return pool_.unit_bytes(); }
  uint64_t open_units() const { return pool_.counts().open / pool_.unit_bytes(); }
  uint64_t used_units() const { return pool_.counts().used / pool_.unit_bytes(); }

  MemoryLimit limit;  // none; to be set before the first unit is taken

 private:
  static constexpr size_t kRoom = size_t{1} << 30;
  uintptr_t place_;  // has memory: the next pool lies elsewhere
  Owned<uintptr_t> bytes_ = 0;
  SlabPool pool_;
};

}  // namespace pktmalloc::test
