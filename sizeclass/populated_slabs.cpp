// SPDX-License-Identifier: MIT
// Populated slabs: opened and given their memory before anybody needs them, and kept.
#include <algorithm>

#include "sizeclass/heap.h"
#include "sizeclass/memory.h"

namespace pktmalloc {
namespace {

// One call of the system; the area's lock is open meanwhile.
constexpr size_t kStepBytes = size_t{16} << 20;

}  // namespace

uint32_t SlabArea::slabs_for(uint64_t objects) const {
  const uint64_t slabs =
      objects / class_.objects_per_slab + (objects % class_.objects_per_slab != 0);
  return static_cast<uint32_t>(std::min<uint64_t>(slabs, place_.slabs() + uint64_t{1}));
}

// The slab at the border of those that are kept.
bool SlabArea::keep(uint32_t slab) {
  if (slab == fresh_.load(std::memory_order_relaxed)) {
    if (!open_fresh_slab()) return false;
  } else if (is_purged(slab) && !reopen_purged_slab(slab)) {
    return false;
  }
  for (SlabSet* set : {&empty_, &kept_}) {
    if (!set->contains(slab)) continue;
    set->erase(slab);
    populated_.insert(slab);
  }
  empty_low_.record(empty_.count());
  counts_.populated_slabs = slab + 1;
  count_empty();
  return true;
}

// Those above age again.
void SlabArea::keep_below(uint32_t end) {
  const Lock lock(mutex_);
  for (uint32_t slab = end; slab < counts_.populated_slabs; ++slab) {
    if (!populated_.contains(slab)) continue;
    populated_.erase(slab);
    empty_.insert(slab);
  }
  counts_.populated_slabs = end;
  count_empty();
}

bool SlabArea::populate(uint64_t objects) {
  const auto before = static_cast<uint32_t>(statistics().populated_slabs);
  if (objects > ~promised_) return false;
  const uint32_t last = slabs_for(promised_ + objects);
  if (last > place_.slabs()) return false;
  const auto step = std::max<uint32_t>(1, static_cast<uint32_t>(kStepBytes >> class_.slab_shift));
  for (uint32_t slab = before, end; slab < last; slab = end) {
    end = std::min({last, slab + step, place_.piece_end(slab)});
    bool there = true;
    {
      const Lock lock(mutex_);
      for (uint32_t i = slab; i < end && there; ++i) there = keep(i);
    }
    if (!there || !memory::populate(start_of(slab), size_t{end - slab} << class_.slab_shift)) {
      keep_below(before);
      return false;
    }
  }
  promised_ += objects;
  return true;
}

void SlabArea::unpopulate(uint64_t objects) {
  promised_ -= objects;
  keep_below(slabs_for(promised_));
}

// Under the lock of ageing, so that nothing is purged meanwhile. The magazines that hold so many
// objects are populated as well: who frees a million objects needs 8 MiB of them.
bool Heap::populate(ClassId id, uint64_t objects) {
  if (!started_) return false;
  const Lock lock(ageing_.mutex());
  const uint32_t rounds = classes_[id].largest_rounds;
  SlabArea& magazines = store_.area(size_for_rounds(rounds));
  const uint64_t before = areas_[index(id)].promised();
  // The first one is never full.
  const uint64_t full =
      (before + objects) / rounds - before / rounds + (before == 0 && objects > 0);
  if (!magazines.populate(full)) return false;
  if (areas_[index(id)].populate(objects)) return true;
  magazines.unpopulate(full);
  return false;
}

}  // namespace pktmalloc
