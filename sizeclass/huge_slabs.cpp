// SPDX-License-Identifier: MIT
// Huge pages under slabs: transparent ones for areas that have grown, and those of the system's
// pool under populated slabs.
//
// A page of 2 MiB saves 511 faults and as many entries of translation buffers, and costs up to 2
// MiB where a class needs less. So an area begins with small pages, and asks for huge ones from the
// step on at which it commits a whole one: that is a fourth of what it has already, so rounding
// costs at most as much. Slabs do not begin where huge pages do, because of their colour; a huge
// page is purged with all its slabs or not at all, else the system would split it while some are
// in use. A slab that is as large as a huge page goes alone.
#include <algorithm>

#include "sizeclass/heap.h"
#include "sizeclass/memory.h"
#include "sizeclass/rounding.h"

namespace pktmalloc {

// Of slabs that have just been committed.
void SlabArea::ask_for_huge_pages(uint32_t slab, uint32_t count) {
  const size_t bytes = size_t{count} << class_.slab_shift;
  if (huge_pages_ == HugePages::kNever) {
    memory::ask_for_huge_pages(start_of(slab), bytes, false);
  } else if (huge_pages_ == HugePages::kMadvise && bytes >= memory::huge_page_bytes()) {
    memory::ask_for_huge_pages(start_of(slab), bytes, true);
    if (slab_bytes() < memory::huge_page_bytes()) huge_from_ = std::min(huge_from_, slab);
  }
}

// The slabs around an empty one of which none is in use, and of these the ones that lie in huge
// pages with no others.
SlabArea::Unused SlabArea::unused_around(uint32_t slab) const {
  const uint32_t least = std::max(huge_from_, place_.piece_begin(slab));
  const uint32_t fresh = std::min(place_.piece_end(slab), fresh_.load(std::memory_order_relaxed));
  uint32_t begin = slab;
  uint32_t end = slab + 1;
  while (begin > least && is_unused(begin - 1)) --begin;
  while (end < fresh && is_unused(end)) ++end;

  const size_t page = memory::huge_page_bytes();
  const uintptr_t start = place_.start_of(begin);
  const uintptr_t stop = start + (size_t{end - begin} << class_.slab_shift);
  // Beyond the two ends nothing is in use, or no huge page can be.
  const uintptr_t first = begin == least ? start : round_up(start, page);
  const uintptr_t last = end == fresh ? stop : stop / page * page;
  if (first >= last) return {begin, begin, begin};
  const auto slabs = [&](size_t bytes) {
    return static_cast<uint32_t>(bytes >> class_.slab_shift);
  };
  return {begin, begin + slabs(first - start + slab_bytes() - 1), begin + slabs(last - start)};
}

// Before a purge that begins at the highest empty slab: if slabs in use lie in its huge page it is
// kept, with at most `most` empty ones, and returns how many. They come back when the others are
// free: then returns 0, and `least` is where the purge must end.
uint32_t SlabArea::keep_partly_used_page(uint32_t most, uint32_t& least) {
  const uint32_t high = empty_.highest();
  const Unused unused = unused_around(high);
  for (uint32_t slab = unused.whole_begin; slab < unused.whole_end; ++slab) {
    if (!kept_.contains(slab)) continue;
    kept_.erase(slab);
    empty_.insert(slab);
  }
  least = unused.whole_begin;
  if (unused.whole_begin <= high && high < unused.whole_end) return 0;
  const uint32_t begin = high < unused.whole_begin ? unused.begin : unused.whole_end;
  uint32_t kept = 0;
  for (uint32_t slab = high + 1; slab > begin && kept < most;) {
    if (!empty_.contains(--slab)) continue;
    empty_.erase(slab);
    kept_.insert(slab);
    ++kept;
  }
  empty_low_.remove(kept);
  count_empty();
  return kept;
}

// Huge pages of the pool for slabs that are still to be committed, as far as they fit below `end`.
// Returns their bytes.
uint64_t SlabArea::commit_from_pool(uint64_t objects) {
  const Lock lock(mutex_);
  const auto end = static_cast<uint32_t>(
      std::min<uint64_t>(counts_.populated_slabs + slabs_for(objects), place_.slabs()));
  uint64_t bytes = 0;
  for (uint32_t slab = static_cast<uint32_t>(counts_.committed_bytes >> class_.slab_shift), next;
       slab < end; slab = next) {
    next = std::min(end, place_.piece_end(slab));
    const uintptr_t start = place_.start_of(slab);
    const uintptr_t stop = start + (size_t{next - slab} << class_.slab_shift);
    const size_t page = memory::huge_page_bytes();
    const uintptr_t first = round_up(start, page);
    const uintptr_t last = stop / page * page;
    if (first >= last || !make_usable(start_of(slab), stop - start)) break;
    counts_.committed_bytes += stop - start;
    ++counts_.commits;
    if (!memory::take_from_pool(reinterpret_cast<void*>(first), last - first)) break;
    bytes += last - first;
  }
  return bytes;
}

uint64_t Heap::commit_from_pool(ClassId id, uint64_t objects) {
  if (!started_) return 0;
  const Lock lock(ageing_.mutex());  // as populate() has it
  return areas_[index(id)].commit_from_pool(objects);
}

}  // namespace pktmalloc
