// SPDX-License-Identifier: MIT
// SlabArea: all slabs of one class, and the only place that knows which of their objects are free.
//
// The area is a part of the reservation, in pieces (area_place.h). Bookkeeping lies elsewhere: a
// record per slab (free count, one bit per object, set = free), found by slab number. Records of
// the first 64 slabs lie in a stretch that all classes share and that is committed at start, so a
// small program pays one system call for them; later records are committed as the area grows.
//
// A slab is in at most one set:
//     partial   0 < free < all                        taken first, lowest address first
//     populated free == all, in advance; never        then these
//               purged (populated_slabs.cpp)
//     empty     free == all, memory still resident    then these
//     kept      free == all, and the system refused   then these
//               to take the memory, which is locked
//     purged    free == all, memory given back        then these; committed anew if need be
//     (none)    no free object; or never used: fresh_ and up, taken last, committed in growing
//     steps
//
// Any thread may call fill() and drain(); they hold mutex() while they handle a magazine.
// purge_some() opens it around the system call, while the slabs are in no set. SlabArea also serves
// the magazines themselves (magazine_store.h), as objects like any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/area_place.h"
#include "sizeclass/class_table.h"
#include "sizeclass/growth.h"
#include "sizeclass/huge_pages.h"
#include "sizeclass/low_water.h"
#include "sizeclass/memory.h"
#include "sizeclass/memory_limit.h"
#include "sizeclass/mutex.h"
#include "sizeclass/object_states.h"
#include "sizeclass/rounding.h"
#include "sizeclass/slab_set.h"
#include "sizeclass/statistics.h"

namespace pktmalloc {

class SlabArea {
 public:
  // Bytes of bookkeeping that start() needs, multiples of 64 and of the page.
  static size_t early_bytes(const SizeClass& size_class);
  static size_t late_bytes(const SizeClass& size_class, uint32_t slabs);

  constexpr SlabArea() = default;

  // `early` is committed and zero, `late` only reserved. Once, before any other call.
  void start(const SizeClass& size_class, LockRank rank, const AreaPlace& place, void* early,
             void* late);

  // The states of this area's objects are to be opened with its slabs.
  void set_states(ObjectStates& states) { states_ = &states; }

  // `growth` hears of each slab that is opened, fresh or purged; until then nobody does.
  void set_growth(Growth& growth) { growth_ = &growth; }
  void set_limit(MemoryLimit& limit) { limit_ = &limit; }
  void set_huge_pages(HugePages use) { huge_pages_ = use; }

  // Writes up to `want` free objects to slots[0..], the lowest address last, and returns how many:
  // fewer only when the area is exhausted or the system refuses memory.
  uint32_t fill(uintptr_t* slots, uint32_t want);

  // Takes back slots[0..count). Reports and aborts on an object that is already free or is none.
  void drain(const uintptr_t* slots, uint32_t count);

  // Reports and aborts on an object that is there twice or is none, but does not look whether it is
  // in use. Takes no lock. Both lists together have at most kInspectMost.
  static constexpr uint32_t kInspectMost = ClassTable::kRoundsLimit;
  void inspect(const uintptr_t* objects, uint32_t count, const uintptr_t* more = nullptr,
               uint32_t more_count = 0) const;

  // Is the address in a slab that may have objects in use? Takes no lock: for a live object the
  // answer does not change.
  bool holds(uintptr_t address) const {
    const uint64_t slab = place_.find(address).slab;
    return slab < fresh_.load(std::memory_order_relaxed) && !is_purged(static_cast<uint32_t>(slab));
  }

  // The start of the object that holds the address; 0: it is in no object of a used slab. Takes no
  // lock.
  uintptr_t object_at(uintptr_t address) const {
    const AreaPlace::Slot at = place_.find(address);
    const uint32_t object = class_.object_index(at.offset);
    if (at.slab >= fresh_.load(std::memory_order_relaxed) || object >= class_.objects_per_slab) {
      return 0;
    }
    return address - at.offset + uintptr_t{object} * class_.object_bytes;
  }

  // Do the address and so many bytes before it lie in a slab that has been used? Takes no lock.
  bool used_slab_holds(uintptr_t address, size_t bytes_before) const {
    const AreaPlace::Slot at = place_.find(address);
    return at.slab < fresh_.load(std::memory_order_relaxed) && at.offset >= bytes_before;
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

  // Opens and populates slabs for so many objects more than before. From now on they are never
  // purged. False when the area has not as many or the system refuses; then no more slabs are kept
  // than before. Not while another thread is in these two or purges.
  bool populate(uint64_t objects);
  // Takes back the latest populate() of as many objects: their slabs age again.
  void unpopulate(uint64_t objects);
  // For how many objects all populate() were. Calls for few objects each share slabs.
  uint64_t promised() const { return promised_; }

  // Before populate() of as many: commits slabs for them on huge pages of the system's pool, as far
  // as it has them. Returns their bytes.
  uint64_t commit_from_pool(uint64_t objects);

  // Ends a tick of the low-water mark: how many empty slabs nobody needed, including those of
  // earlier ticks that were not purged.
  uint32_t tick();

  // Purges one run of adjacent empty slabs, at most `most`, from the top; returns how many. If the
  // system refuses they are kept instead, and it is not asked again until they have been used: a
  // program that locks memory wants no system calls. Kept are also those whose huge page is partly
  // in use, unless `splits`.
  uint32_t purge_some(uint32_t most, bool splits = false);

  // Kept slabs may be purged after all: for when somebody asks for all memory that can be had.
  void forget_kept();

  // Decommits the purged slabs and those committed ahead: for when the system refuses memory.
  void decommit_purged();

  // Under the lock: from now on only used slabs stay reserved, and with `purged` only those not
  // purged; the caller gives the rest back. next_mapped() names the slabs that stay: it moves
  // on to the next one; false when there is none.
  void map_as_needed(bool purged) UNDER(mutex_) {
    maps_ = true;
    unmaps_purged_ = purged;
    counts_.committed_bytes = counts_.used_slabs << class_.slab_shift;
  }
  // False: from now on it has the slabs that it has used, and no others.
  void let_grow(bool grows) UNDER(mutex_) { grows_ = grows; }
  bool next_mapped(uint32_t& slab) const UNDER(mutex_) {
    while (slab < counts_.used_slabs && unmaps_purged_ && is_purged(slab)) ++slab;
    return slab < counts_.used_slabs;
  }
  // Calls keep(start, bytes) for what is committed of the bookkeeping that start() got as `late`.
  template <typename Keep>
  void each_late(Keep keep) const NOT_FOLLOWED {
    keep(late_sets_, sets_bytes_);
    keep(late_records_, counts_.record_bytes - sets_bytes_);
  }

  // Without the kept ones: these will not go.
  uint32_t empty_slabs() const { return empty_count_.load(std::memory_order_relaxed); }
  size_t slab_bytes() const { return size_t{1} << class_.slab_shift; }
  const SizeClass& size_class() const { return class_; }
  const AreaPlace& place() const { return place_; }

  AreaStatistics statistics() {
    const Lock lock(mutex_);
    return counts_;
  }
  // Bytes of the slabs in memory, as the system reports; walks over all pages.
  uint64_t resident_bytes();
  // Where the counts lie, for a reader outside the process (heap_window.h).
  const AreaStatistics& counts() const { return counts_; }
  Mutex& mutex() IS_LOCK(mutex_) { return mutex_; }

 private:
  struct Record {
    uint64_t free;
    uint64_t bits[1];  // objects_per_slab bits
  };
  static size_t record_bytes(const SizeClass& size_class);
  static size_t sets_bytes(uint32_t slabs);

  Record& record(uint32_t slab) UNDER(mutex_);
  void* start_of(uint32_t slab) const { return reinterpret_cast<void*>(place_.start_of(slab)); }
  // Only for slabs below fresh_.
  bool is_purged(uint32_t slab) const NOT_FOLLOWED { return purged_.contains(slab); }
  bool open_states(uint32_t slab) UNDER(mutex_) {
    return states_ == nullptr || states_->open(place_.start_of(slab) + slab_bytes(),
                                               maps_ ? memory::map : memory::commit);
  }
  bool make_usable(void* start, size_t bytes) UNDER(mutex_) {
    return maps_ ? memory::map(start, bytes) : memory::commit(start, bytes);
  }
  bool purge_run(uint32_t low, uint32_t count) UNDER(mutex_);
  bool is_unused(uint32_t slab) const UNDER(mutex_) {
    return empty_.contains(slab) || kept_.contains(slab) || purged_.contains(slab);
  }
  struct Unused {
    uint32_t begin, whole_begin, whole_end;
  };
  Unused unused_around(uint32_t slab) const UNDER(mutex_);  // huge_slabs.cpp has these
  uint32_t keep_partly_used_page(uint32_t most, uint32_t& least) UNDER(mutex_);
  void ask_for_huge_pages(uint32_t slab, uint32_t count) UNDER(mutex_);
  uint32_t slabs_for(uint64_t objects) const;  // slabs() + 1: more than there are
  bool keep(uint32_t slab) UNDER(mutex_);
  void keep_below(uint32_t slab);
  uint32_t slab_to_fill() UNDER(mutex_);
  bool reopen_purged_slab(uint32_t slab) UNDER(mutex_);
  bool reopen_a_purged_slab() UNDER(mutex_);
  bool open_fresh_slab() UNDER(mutex_);
  bool take_slab() { return limit_ == nullptr || limit_->take(slab_bytes()); }
  void give_slabs(uint32_t count) {
    if (limit_ != nullptr) limit_->give(count * slab_bytes());
  }
  bool commit_slab(uint32_t slab) UNDER(mutex_);
  bool commit_record(uint32_t slab) UNDER(mutex_);
  void change_free(uint32_t slab, Record& r, uint64_t free) UNDER(mutex_);
  void count_empty() UNDER(mutex_) {
    counts_.empty_slabs = populated_.count() + empty_.count() + kept_.count();
    empty_count_.store(empty_.count(), std::memory_order_relaxed);
  }

  Mutex mutex_;
  SizeClass class_{};
  size_t record_bytes_ = 0;
  Growth* growth_ = nullptr;
  MemoryLimit* limit_ = nullptr;  // of all slabs that are open and not purged
  ObjectStates* states_ = nullptr;
  AreaPlace place_;
  char* early_records_ = nullptr;  // of slabs below SlabSet::kInlineSlabs
  char* late_sets_ = nullptr;      // of the other slabs: a word of each set for 64 of them
  char* late_records_ = nullptr;   // of the same
  size_t sets_bytes_ GUARDED_BY(mutex_) = 0;  // committed
  std::atomic<uint32_t> fresh_ = 0;           // slabs below have been used; written under mutex_
  SlabSet partial_ GUARDED_BY(mutex_), populated_ GUARDED_BY(mutex_), empty_ GUARDED_BY(mutex_),
      kept_ GUARDED_BY(mutex_), purged_ GUARDED_BY(mutex_);
  LowWater empty_low_ GUARDED_BY(mutex_);
  uint32_t huge_from_ GUARDED_BY(mutex_) = SlabSet::kNone;  // slabs above may have huge pages
  std::atomic<uint32_t> empty_count_ = 0;       // = empty_.count(), readable without the lock
  AreaStatistics counts_ GUARDED_BY(mutex_){};  // record_bytes: with sets_bytes_
  // Purges up to the latest decommit_purged(); 0: none yet.
  uint64_t purges_decommitted_ GUARDED_BY(mutex_) = 0;
  uint32_t reopens_from_ GUARDED_BY(mutex_) = 0;  // purged slabs below are somebody else's
  HugePages huge_pages_ = HugePages::kAuto;
  bool maps_ = false;           // nothing is reserved; slabs are mapped as needed, not committed
  bool unmaps_purged_ = false;  // and purged slabs are unmapped
  bool grows_ GUARDED_BY(mutex_) = true;
  uint64_t promised_ = 0;
};

}  // namespace pktmalloc
