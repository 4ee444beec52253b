// SPDX-License-Identifier: MIT
// Purged slabs: empty ones whose memory went back, and how they are opened again.
#include <algorithm>

#include "sizeclass/memory.h"
#include "sizeclass/slab_area.h"

namespace pktmalloc {

uint32_t SlabArea::purge_some(uint32_t most, bool splits) {
  const Lock lock(mutex_);
  if (empty_.count() == 0 || most == 0) return 0;
  uint32_t least = 0;
  if (!splits && empty_.highest() >= huge_from_) {
    if (const uint32_t kept = keep_partly_used_page(most, least); kept > 0) return kept;
  }
  const uint32_t high = empty_.highest();
  least = std::max(least, place_.piece_begin(high));
  uint32_t low = high;
  uint32_t count = 1;
  for (; count < most && low > least && empty_.contains(low - 1); ++count) --low;
  const uint64_t objects = uint64_t{count} * class_.objects_per_slab;
  for (uint32_t i = 0; i < count; ++i) empty_.erase(low + i);
  counts_.free_objects -= objects;
  empty_low_.remove(count);
  if (purge_run(low, count)) {
    const size_t bytes = size_t{count} << class_.slab_shift;
    ++counts_.purges;
    counts_.purged_total_bytes += bytes;
    if (growth_ != nullptr) growth_->purged(bytes);
    give_slabs(count);
  } else {
    for (uint32_t i = 0; i < count; ++i) kept_.insert(low + i);
    counts_.free_objects += objects;
  }
  counts_.purged_slabs = purged_.count();
  count_empty();
  return count;
}

// For slabs in no set. The lock is open meanwhile, unless the addresses go as well: then holds()
// must know before somebody else can get them.
bool SlabArea::purge_run(uint32_t low, uint32_t count) {
  const size_t bytes = size_t{count} << class_.slab_shift;
  if (unmaps_purged_) {
    for (uint32_t i = 0; i < count; ++i) purged_.insert(low + i);
    reopens_from_ = std::min(reopens_from_, low);
    if (memory::release(start_of(low), bytes)) return true;
    for (uint32_t i = 0; i < count; ++i) purged_.erase(low + i);
    return false;
  }
  count_empty();
  mutex_.unlock();
  const bool gone = memory::purge(start_of(low), bytes);
  mutex_.lock();
  for (uint32_t i = 0; i < count && gone; ++i) purged_.insert(low + i);
  return gone;
}

void SlabArea::forget_kept() {
  const Lock lock(mutex_);
  for (uint32_t slab; (slab = kept_.lowest()) != SlabSet::kNone;) {
    kept_.erase(slab);
    empty_.insert(slab);
  }
  count_empty();
}

void SlabArea::decommit_purged() {
  const Lock lock(mutex_);
  const uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  const size_t ahead = counts_.committed_bytes - (size_t{fresh} << class_.slab_shift);
  const auto give = maps_ ? memory::release : memory::decommit;
  if (ahead > 0 && give(start_of(fresh), ahead)) counts_.committed_bytes -= ahead;
  // Nothing was purged since, or the addresses went as well.
  if (counts_.purges == purges_decommitted_ || unmaps_purged_) return;
  purges_decommitted_ = counts_.purges;
  for (uint32_t slab = 0, end; slab < fresh; slab = std::max(end, slab + 1)) {
    const uint32_t piece_end = std::min(fresh, place_.piece_end(slab));
    for (end = slab; end < piece_end && purged_.contains(end);) ++end;
    // The checked library may look at any object of a slab that was in use.
    if (end > slab) memory::withdraw(start_of(slab), size_t{end - slab} << class_.slab_shift);
  }
}

// The lowest one, or, where others may have taken addresses, the lowest that is still to be had. It
// asks for few at a time, and looks at the lowest ones anew when there are no others.
bool SlabArea::reopen_a_purged_slab() {
  const int most = unmaps_purged_ ? 8 : 1;
  for (int tried = 0; tried < most; ++tried) {
    const uint32_t slab = purged_.lowest_from(reopens_from_);
    if (slab == SlabSet::kNone) {
      reopens_from_ = 0;
      return false;
    }
    if (reopen_purged_slab(slab)) return true;
    if (unmaps_purged_) reopens_from_ = slab + 1;
  }
  return false;
}

// False also when somebody else has its addresses by now.
bool SlabArea::reopen_purged_slab(uint32_t slab) {
  if (!take_slab()) return false;
  const bool usable = !unmaps_purged_ && purges_decommitted_ == 0;
  if (!usable && !make_usable(start_of(slab), slab_bytes())) {
    give_slabs(1);
    return false;
  }
  if (!usable) ask_for_huge_pages(slab, 1);
  purged_.erase(slab);
  counts_.purged_slabs = purged_.count();
  empty_.insert(slab);
  counts_.free_objects += class_.objects_per_slab;
  if (growth_ != nullptr) growth_->opened_again(slab_bytes());
  return true;
}

}  // namespace pktmalloc
