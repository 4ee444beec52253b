// SPDX-License-Identifier: MIT
// Looking for wrong frees in magazines: an object that is there twice, or that is none.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "sizeclass/base/misuse.h"
#include "sizeclass/heap/cache.h"

namespace pktmalloc {

// A hash table finds those that are there twice. The hash scatters: objects of several slabs at the
// same places would have a run of entries for one, and each would be looked for through all of it.
void SlabArea::inspect(const uintptr_t* objects, uint32_t first_count, const uintptr_t* more,
                       uint32_t more_count) const {
  const uint32_t count = first_count + more_count;
  if (count == 0 || pool_->has_states()) return;  // who keeps states looks at each call
  const auto at = [=](uint32_t i) { return i < first_count ? objects[i] : more[i - first_count]; };
  uint16_t table[4 * kInspectMost];  // the number of an object, from 1; 0: none
  const uint32_t last = std::bit_ceil(4 * count) - 1;
  const auto shift = 64 - static_cast<unsigned>(std::bit_width(last));
  memset(table, 0, (last + size_t{1}) * sizeof *table);
  const SizeClass& c = class_;
  uint32_t number = 0;
  for (const auto list : {std::span(objects, first_count), std::span(more, more_count)}) {
    for (const uintptr_t object : list) {
      const uint32_t slab = pool_->slab_of(id_, object);
      if (slab == SlabPool::kNone ||
          c.exact_index(static_cast<uint32_t>(object - pool_->start_of(slab))) >=
              c.objects_per_slab) [[unlikely]]
        refuse(object);
      uint64_t entry = (object >> c.granule_shift) * 0x9e37'79b9'7f4a'7c15 >> shift;  // Fibonacci's
      while (const uint16_t other = table[entry & last]) {
        if (at(other - 1U) == object) report_misuse(Misuse::kDoubleFree, object, c.object_bytes);
        ++entry;
      }
      table[entry & last] = static_cast<uint16_t>(++number);
    }
  }
}

// Before a magazine leaves the thread. Of two frees of an object one may lie in the magazine that
// was filled after it; if both are too large to be looked at together, the ends that meet are.
void Cache::inspect(const SlabArea& area, Magazine* magazine, Magazine* later) {
  if (magazine == nullptr) return;
  constexpr uint32_t kEnd = 32;
  const uint32_t rounds = magazine->rounds;
  if (later == nullptr) return area.inspect(magazine->objects(), rounds);
  uint32_t before = rounds, after = later->rounds;
  if (before + after > SlabArea::kInspectMost) {
    area.inspect(magazine->objects(), rounds);
    before = std::min(before, kEnd);
    after = std::min(after, kEnd);
  }
  area.inspect(magazine->objects() + rounds - before, before, later->objects(), after);
}

}  // namespace pktmalloc
