// SPDX-License-Identifier: MIT
// Populated slabs: taken and given their memory before anybody needs them, and kept.
#include <algorithm>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/slabs/slab_area.h"

namespace pktmalloc {

uint32_t SlabArea::slabs_for(uint64_t objects) const {
  const uint64_t slabs =
      objects / class_.objects_per_slab + (objects % class_.objects_per_slab != 0);
  return static_cast<uint32_t>(std::min<uint64_t>(slabs, SlabPool::kNone));
}

void SlabArea::let_go_of(uint32_t slab) {
  Record& r = record(slab);
  r.stays = kGoes;
  --s_.counts.populated_slabs;
  if (r.free == class_.objects_per_slab) set_free(slab, r, r.free);
}

// The area's lock is open while the system has its time.
bool SlabArea::populate_slab() {
  uint32_t slab;
  {
    const Lock lock(s_.mutex);
    slab = take_slab(kPopulated);
    if (slab == SlabPool::kNone) return false;
  }
  const size_t used =
      round_up(size_t{class_.objects_per_slab} * class_.object_bytes, memory::page_bytes());
  if (memory::populate(reinterpret_cast<void*>(pool_.start_of(slab)), used)) return true;
  const Lock lock(s_.mutex);
  let_go_of(slab);
  return false;
}

// No more than so many stay; those on huge pages of the system's pool do, as the system does not
// take back parts of such pages.
void SlabArea::let_go(uint32_t slabs) {
  const Lock lock(s_.mutex);
  for (uint32_t unit = pool_.fresh();
       unit > pool_.first_unit() && s_.counts.populated_slabs > slabs;) {
    --unit;
    const bool is_slab = pool_.slab_of(id_, pool_.start_of(unit)) == unit;
    if (is_slab && record(unit).stays == kPopulated) let_go_of(unit);
  }
}

bool SlabArea::populate(uint64_t objects) {
  if (objects > ~promised()) return false;
  const auto before = static_cast<uint32_t>(statistics().populated_slabs);
  const uint32_t last = slabs_for(promised() + objects);
  for (uint32_t slabs = before; slabs < last; ++slabs) {
    if (populate_slab()) continue;
    let_go(before);
    return false;
  }
  s_.promised += objects;
  return true;
}

uint64_t SlabArea::populate_on_huge_pages(uint64_t objects) {
  if (objects > ~promised()) return 0;
  const Lock lock(s_.mutex);
  const auto before = static_cast<uint32_t>(s_.counts.populated_slabs);
  const uint32_t last = slabs_for(promised() + objects);
  uint32_t got = last - before;
  const uint32_t first = pool_.take_on_huge_pages(id_, class_.units, got);
  if (first == SlabPool::kNone) return 0;
  // The system's pool has set the pages aside for us, so it refuses none.
  memory::populate(reinterpret_cast<void*>(pool_.start_of(first)), got * slab_bytes());
  for (uint32_t i = 0; i < got; ++i) adopt(first + i * class_.units, true, kOnHugePages);
  const uint64_t room = s_.counts.populated_slabs * class_.objects_per_slab;
  const uint64_t provided = std::min(objects, room - promised());
  s_.promised += provided;
  return provided;
}

void SlabArea::unpopulate(uint64_t objects) {
  s_.promised -= objects;
  let_go(slabs_for(promised()));
}

}  // namespace pktmalloc
