// SPDX-License-Identifier: MIT
// SlabArea: all slabs of one class, and the only place that knows which objects are free in them.
//
// The area is a part of the reservation, in pieces (area_place.h). Bookkeeping lies out of line: a
// record per slab (free count, one bit per object, set = free), found by slab number. Records of
// the first 64 slabs come from a stretch that all classes share and that is committed at start, so
// a small program pays one system call for them; later ones are committed as the area grows.
//
// A slab is in at most one set:
//     partial   0 < free < all                        taken first, lowest address first
//     empty     free == all, memory still resident    then these
//     kept      free == all, and the system refused   then these
//               to take the memory, which is locked
//     purged    free == all, memory given back        then these; committed anew if need be
//     (none)    no free object; or never used: fresh_ and up, taken last, committed in growing
//     steps
//
// fill() and drain() may be called by any thread and hold mutex() for as long as a magazine takes.
// purge_some() holds it only around the system call, while the slabs are in no set.
// Also serves magazines themselves (magazine_store.h): a magazine is an object like any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/area_place.h"
#include "sizeclass/class_table.h"
#include "sizeclass/growth.h"
#include "sizeclass/low_water.h"
#include "sizeclass/memory.h"
#include "sizeclass/mutex.h"
#include "sizeclass/slab_set.h"
#include "sizeclass/statistics.h"

namespace pktmalloc {

class SlabArea {
 public:
  // Bytes of bookkeeping that start() must be given, multiples of 64 and of the page.
  static size_t early_bytes(const SizeClass& size_class);
  static size_t late_bytes(const SizeClass& size_class, uint32_t slabs);

  constexpr SlabArea() = default;

  // `early` is committed and zero, `late` only reserved. Once, before any other call.
  void start(const SizeClass& size_class, LockRank rank, const AreaPlace& place, void* early,
             void* late);

  // Who is told of each slab that is opened, fresh or purged; nobody until then.
  void set_growth(Growth& growth) { growth_ = &growth; }

  // Writes up to `want` free objects to slots[0..], the lowest address last, and returns how many;
  // fewer only when the area is exhausted or the system refuses memory.
  uint32_t fill(uintptr_t* slots, uint32_t want);

  // Takes back slots[0..count). Reports and aborts on an object that is free already or is none.
  void drain(const uintptr_t* slots, uint32_t count);

  // Does the address lie in a slab that may have objects with the program? Takes no lock: for a
  // live object the answer does not change.
  bool holds(uintptr_t address) const {
    const uint64_t slab = place_.find(address).slab;
    return slab < fresh_.load(std::memory_order_relaxed) && !is_purged(static_cast<uint32_t>(slab));
  }

  // Where the object begins that the address lies in; 0: in no object of a slab that was ever used.
  // Takes no lock.
  uintptr_t object_at(uintptr_t address) const {
    const AreaPlace::Slot at = place_.find(address);
    const uint32_t object = class_.object_index(at.offset);
    if (at.slab >= fresh_.load(std::memory_order_relaxed) || object >= class_.objects_per_slab) {
      return 0;
    }
    return address - at.offset + uintptr_t{object} * class_.object_bytes;
  }

  // Calls visit(start) for every object of the slabs in use, free ones too. Takes no lock.
  template <typename Visit>
  void each_object(Visit visit) const {
    for (uint32_t slab = 0; slab < fresh_.load(std::memory_order_relaxed); ++slab) {
      if (is_purged(slab)) continue;
      const uintptr_t start = place_.start_of(slab);
      for (uint32_t i = 0; i < class_.objects_per_slab; ++i) {
        visit(start + uintptr_t{i} * class_.object_bytes);
      }
    }
  }

  // Ends a tick of the low-water mark: how many empty slabs nobody needed, with those of earlier
  // ticks that were not purged.
  uint32_t tick();

  // Purges one run of adjacent empty slabs, at most `most`, from the top; returns how many. If the
  // system refuses they are kept instead, and it is not asked again before they were used: who
  // locks memory wants no system calls.
  uint32_t purge_some(uint32_t most);

  // What is kept may be purged after all: for when somebody asks for all that can be had.
  void forget_kept();

  // Decommits the purged slabs, and what is committed ahead: for when the system refuses memory.
  void decommit_purged();

  // Under the lock: from now on nothing is reserved but what was used, and with `purged` not
  // what is purged either; the caller gives it back. next_mapped() tells which slabs stay: it moves
  // on to the next one; false when there is none.
  void map_as_needed(bool purged) UNDER(mutex_) {
    maps_ = true;
    unmaps_purged_ = purged;
    counts_.committed_bytes = counts_.used_slabs << class_.slab_shift;
  }
  bool next_mapped(uint32_t& slab) const UNDER(mutex_) {
    while (slab < counts_.used_slabs && unmaps_purged_ && is_purged(slab)) ++slab;
    return slab < counts_.used_slabs;
  }
  const void* late() const { return late_sets_; }  // bookkeeping, as start() was given it

  // Not those that are kept: these will not go.
  uint32_t empty_slabs() const { return empty_count_.load(std::memory_order_relaxed); }
  size_t slab_bytes() const { return size_t{1} << class_.slab_shift; }
  const SizeClass& size_class() const { return class_; }
  const AreaPlace& place() const { return place_; }

  AreaStatistics statistics();
  // Bytes of the slabs that are in memory, as the system says: a walk over all pages.
  uint64_t resident_bytes();
  // Where they lie, for a reader outside of the process (heap_window.h).
  const AreaStatistics& counts() const { return counts_; }
  Mutex& mutex() IS_LOCK(mutex_) { return mutex_; }

 private:
  struct Record {
    uint64_t free;
    uint64_t bits[1];  // objects_per_slab bits
  };
  static size_t record_bytes(const SizeClass& size_class);
  static size_t set_bytes(uint32_t slabs);

  Record& record(uint32_t slab) UNDER(mutex_);
  void* start_of(uint32_t slab) const { return reinterpret_cast<void*>(place_.start_of(slab)); }
  // Below fresh_.
  bool is_purged(uint32_t slab) const NOT_FOLLOWED { return purged_.contains(slab); }
  bool make_usable(void* start, size_t bytes) UNDER(mutex_) {
    return maps_ ? memory::map(start, bytes) : memory::commit(start, bytes);
  }
  bool purge_run(uint32_t low, uint32_t count) UNDER(mutex_);
  uint32_t slab_to_fill() UNDER(mutex_);
  bool reopen_purged_slab() UNDER(mutex_);
  bool open_fresh_slab() UNDER(mutex_);
  bool commit_slab(uint32_t slab) UNDER(mutex_);
  bool commit_record(uint32_t slab) UNDER(mutex_);
  void change_free(uint32_t slab, Record& r, uint64_t free) UNDER(mutex_);
  void count_empty() UNDER(mutex_) {
    counts_.empty_slabs = empty_.count() + kept_.count();
    empty_count_.store(empty_.count(), std::memory_order_relaxed);
  }

  Mutex mutex_;
  SizeClass class_{};
  size_t record_bytes_ = 0;
  Growth* growth_ = nullptr;
  AreaPlace place_;
  char* early_records_ = nullptr;  // of slabs below SlabSet::kInlineSlabs
  char* late_sets_ = nullptr;      // bits of the four sets
  char* late_records_ = nullptr;   // of the other slabs
  size_t late_sets_bytes_ = 0;
  std::atomic<uint32_t> fresh_ = 0;  // slabs below have been used; written under mutex_
  SlabSet partial_ GUARDED_BY(mutex_), empty_ GUARDED_BY(mutex_), kept_ GUARDED_BY(mutex_),
      purged_ GUARDED_BY(mutex_);
  LowWater empty_low_ GUARDED_BY(mutex_);
  std::atomic<uint32_t> empty_count_ = 0;       // = empty_.count(), to be read without the lock
  AreaStatistics counts_ GUARDED_BY(mutex_){};  // record_bytes from late_sets_
  // Purges at the latest decommit_purged(); 0: none yet.
  uint64_t purges_decommitted_ GUARDED_BY(mutex_) = 0;
  bool maps_ = false;           // nothing is reserved; what is needed is mapped, not committed
  bool unmaps_purged_ = false;  // and what is purged is unmapped
};

}  // namespace pktmalloc
