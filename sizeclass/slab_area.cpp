// SPDX-License-Identifier: MIT
#include "sizeclass/slab_area.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sizeclass/memory.h"
#include "sizeclass/misuse.h"
#include "sizeclass/rounding.h"

namespace pktmalloc {
namespace {

// Small programs use many classes, and committed memory counts against RLIMIT_DATA and overcommit.
constexpr size_t kCommitLeast = size_t{256} << 10;
constexpr size_t kCommitMost = size_t{16} << 20;  // larger steps save too few calls

constexpr size_t kSets = 5;  // of slabs: partial, populated, empty, kept, purged

}  // namespace

size_t SlabArea::record_bytes(const SizeClass& c) {
  return sizeof(uint64_t) * (1 + (c.objects_per_slab + 63) / 64);
}

size_t SlabArea::early_bytes(const SizeClass& c) {
  return round_up(record_bytes(c) * SlabSet::kInlineSlabs, 64);
}

// Words of all sets for the same slabs lie side by side: little is committed for few slabs.
size_t SlabArea::sets_bytes(uint32_t slabs) {
  return round_up((slabs / 64 + size_t{1}) * kSets * sizeof(uint64_t), memory::page_bytes());
}

size_t SlabArea::late_bytes(const SizeClass& c, uint32_t slabs) {
  return sets_bytes(slabs) + round_up(slabs * record_bytes(c), memory::page_bytes());
}

void SlabArea::start(const SizeClass& size_class, LockRank rank, const AreaPlace& place,
                     void* early, void* late) {
  mutex_.set_rank(rank);
  class_ = size_class;
  record_bytes_ = record_bytes(class_);
  place_ = place;
  early_records_ = static_cast<char*>(early);
  late_sets_ = static_cast<char*>(late);
  late_records_ = late_sets_ + sets_bytes(place_.slabs());
  SlabSet* sets[kSets] = {&partial_, &populated_, &empty_, &kept_, &purged_};
  for (size_t i = 0; i < kSets; ++i)
    sets[i]->use(reinterpret_cast<Owned<uint64_t>*>(late_sets_) + i, kSets);
}

SlabArea::Record& SlabArea::record(uint32_t slab) {
  char* at = slab < SlabSet::kInlineSlabs
                 ? early_records_ + slab * record_bytes_
                 : late_records_ + (slab - SlabSet::kInlineSlabs) * record_bytes_;
  return *reinterpret_cast<Record*>(at);
}

uint32_t SlabArea::fill(uintptr_t* slots, uint32_t want) {
  const Lock lock(mutex_);
  uintptr_t* next = slots + want;
  while (next != slots) {
    const uint32_t slab = slab_to_fill();
    if (slab == SlabSet::kNone) break;
    Record& r = record(slab);
    const uintptr_t start = place_.start_of(slab);
    uint64_t left = r.free;
    for (uint64_t w = 0; left > 0 && next != slots; ++w) {
      uint64_t word = r.bits[w];
      const uintptr_t first = start + w * 64 * class_.object_bytes;
      while (word != 0 && next != slots) {
        *--next = first + static_cast<uintptr_t>(std::countr_zero(word)) * class_.object_bytes;
        word &= word - 1;
        --left;
      }
      r.bits[w] = word;
    }
    change_free(slab, r, left);
  }
  const uint32_t got = want - static_cast<uint32_t>(next - slots);
  if (next != slots) memmove(slots, next, got * sizeof *slots);
  ++counts_.fills;
  counts_.filled += got;
  return got;
}

void SlabArea::drain(const uintptr_t* slots, uint32_t count) {
  // Copies: to the compiler, each store to a record might change them.
  const SizeClass c = class_;
  const AreaPlace place = place_;
  const uint64_t all = c.objects_per_slab;
  mutex_.lock();
  const uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  uint64_t stay = 0;  // objects whose slab stays in its set
  for (uint32_t i = 0; i < count; ++i) {
    const AreaPlace::Slot at = place.find(slots[i]);
    const uint32_t object = c.exact_index(static_cast<uint32_t>(at.offset));
    if (at.slab >= fresh || object >= all) [[unlikely]] {
      mutex_.unlock();
      report_misuse(Misuse::kNotAnObject, slots[i], c.object_bytes);
    }
    const uint32_t slab = static_cast<uint32_t>(at.slab);
    Record& r = record(slab);
    uint64_t& word = r.bits[object / 64];
    const uint64_t bit = uint64_t{1} << (object % 64);
    if ((word & bit) != 0) [[unlikely]] {
      mutex_.unlock();
      report_misuse(Misuse::kDoubleFree, slots[i], c.object_bytes);
    }
    word |= bit;
    if (r.free == 0 || r.free + 1 == all) {
      change_free(slab, r, r.free + 1);
    } else {
      ++r.free;
      ++stay;
    }
  }
  counts_.free_objects += stay;
  ++counts_.drains;
  counts_.drained += count;
  mutex_.unlock();
}

// Moves the slab to the set for its number of free objects.
void SlabArea::change_free(uint32_t slab, Record& r, uint64_t free) {
  const uint64_t all = class_.objects_per_slab;
  const bool stays = slab < counts_.populated_slabs;
  const auto set_of = [&](uint64_t n) -> SlabSet* {
    if (n == all) return stays ? &populated_ : &empty_;
    return n == 0 ? nullptr : &partial_;
  };
  SlabSet* before = set_of(r.free);
  SlabSet* after = set_of(free);
  counts_.free_objects += free - r.free;
  r.free = free;
  if (before == after) return;
  if (before != nullptr) before->erase(slab);
  if (after != nullptr) after->insert(slab);
  if (before == &empty_) empty_low_.record(empty_.count());
  count_empty();
}

// A slab with a free object, in partial_, populated_ or empty_; kNone when there is none.
uint32_t SlabArea::slab_to_fill() {
  if (const uint32_t slab = partial_.lowest(); slab != SlabSet::kNone) return slab;
  if (const uint32_t slab = populated_.lowest(); slab != SlabSet::kNone) return slab;
  if (empty_.count() == 0) {
    if (kept_.count() > 0) {
      const uint32_t slab = kept_.lowest();
      kept_.erase(slab);
      empty_.insert(slab);
    } else if (!reopen_a_purged_slab() && !open_fresh_slab()) {
      return SlabSet::kNone;
    }
  }
  return empty_.lowest();
}

bool SlabArea::open_fresh_slab() {
  const uint32_t slab = fresh_.load(std::memory_order_relaxed);
  if (!grows_ || slab == place_.slabs() || !take_slab()) return false;
  if (!commit_record(slab) || !open_states(slab) || !commit_slab(slab)) {
    give_slabs(1);
    return false;
  }
  fresh_.store(slab + 1, std::memory_order_relaxed);
  counts_.used_slabs = slab + 1;
  Record& r = record(slab);
  uint64_t left = class_.objects_per_slab;
  for (uint64_t w = 0; left > 0; ++w) {
    const uint64_t here = std::min<uint64_t>(left, 64);
    r.bits[w] = ~uint64_t{0} >> (64 - here);
    left -= here;
  }
  r.free = class_.objects_per_slab;
  counts_.free_objects += r.free;
  empty_.insert(slab);
  if (growth_ != nullptr) growth_->opened(slab_bytes());
  return true;
}

bool SlabArea::commit_slab(uint32_t slab) {
  if (slab < counts_.committed_bytes >> class_.slab_shift) return true;
  const size_t step = std::clamp(counts_.committed_bytes / 4, kCommitLeast, kCommitMost);
  const auto generous = std::max<uint32_t>(1, static_cast<uint32_t>(step >> class_.slab_shift));
  // Under a tight limit the system may refuse a step but grant a single slab.
  for (const uint32_t slabs : {std::min(generous, place_.piece_end(slab) - slab), uint32_t{1}}) {
    const size_t bytes = size_t{slabs} << class_.slab_shift;
    if (make_usable(start_of(slab), bytes)) {
      counts_.committed_bytes += bytes;
      ++counts_.commits;
      ask_for_huge_pages(slab, slabs);
      return true;
    }
  }
  return false;
}

bool SlabArea::commit_record(uint32_t slab) {
  if (slab < SlabSet::kInlineSlabs) return true;
  const uint32_t late = slab + 1 - SlabSet::kInlineSlabs;
  const size_t records = counts_.record_bytes - sets_bytes_;
  if (records < late * record_bytes_) {
    const size_t page = memory::page_bytes();
    const size_t all = round_up(place_.slabs() * record_bytes_, page);
    const size_t more = std::min(records, kCommitLeast);
    const size_t to = std::min(all, round_up(late * record_bytes_ + more, page));
    if (!make_usable(late_records_ + records, to - records)) return false;
    counts_.record_bytes += to - records;
  }
  const size_t sets = sets_bytes(late);
  if (sets_bytes_ < sets) {
    if (!make_usable(late_sets_ + sets_bytes_, sets - sets_bytes_)) return false;
    counts_.record_bytes += sets - sets_bytes_;
    sets_bytes_ = sets;
  }
  return true;
}

uint32_t SlabArea::tick() {
  const Lock lock(mutex_);
  return empty_low_.tick(empty_.count());
}

uint64_t SlabArea::resident_bytes() {
  const auto committed = static_cast<uint32_t>(statistics().committed_bytes >> class_.slab_shift);
  uint64_t bytes = 0;
  for (uint32_t slab = 0, end; slab < committed; slab = end) {
    end = std::min(committed, place_.piece_end(slab));
    if (unmaps_purged_) end = slab + 1;
    if (slab < fresh_.load(std::memory_order_relaxed) && is_purged(slab)) continue;
    bytes += memory::resident_bytes(start_of(slab), size_t{end - slab} << class_.slab_shift);
  }
  return bytes;
}

}  // namespace pktmalloc
