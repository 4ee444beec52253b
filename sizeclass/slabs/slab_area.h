// SPDX-License-Identifier: MIT
// SlabArea: the slabs of one class, and the only place that knows which of their objects are free.
//
// It takes slabs from the pool and gives them back (slab_pool.h), and keeps a record of each: how
// many objects are free and which (a bit each, set = free). A slab with a free object is in the set
// partial_, and the lowest one serves first. One without is in no set, and one with none in use
// goes back to the pool, unless it was populated in advance: those stay.
//
// A few objects in use keep a slab. So when nobody needs the free ones for long, their memory goes
// back, as far as they have whole pages; such a slab is in the set thinned_ until one of its
// objects comes or goes, and serves when no other one can.
//
// The objects of a slab are handed out from a different one on in each slab, and round: else the
// first objects of all classes would lie at the same distance from a page's start and share few
// sets of the processor's cache (slab colouring, Bonwick 1994).
//
// Any thread may call fill() and drain(); they hold `mutex` while they handle a magazine. SlabArea
// also serves the magazines themselves (magazine_store.h), as objects like any other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/low_water.h"
#include "sizeclass/base/mutex.h"
#include "sizeclass/base/statistics.h"
#include "sizeclass/slabs/class_table.h"
#include "sizeclass/slabs/slab_pool.h"
#include "sizeclass/slabs/slab_set.h"

namespace pktmalloc {

class SlabArea {
 public:
  // What there is of an area, all zeros at first: a class that nobody uses has its page untouched.
  // Two classes share no cache line.
  struct alignas(64) State {
    Mutex mutex;
    std::atomic<uint64_t> promised = 0;
    SlabSet partial GUARDED_BY(mutex), thinned GUARDED_BY(mutex);
    uint64_t thinned_objects GUARDED_BY(mutex) = 0;  // free ones of thinned slabs
    AreaStatistics counts GUARDED_BY(mutex){};       // in one cache line
    LowWater free_low GUARDED_BY(mutex);             // of the others
    uint32_t drains_then GUARDED_BY(mutex) = 0;      // at the latest tick if quiet, the lowest bits
  };

  // `id`: its number in the pool's map.
  SlabArea(State& state, const SizeClass& size_class, SlabPool& pool, ClassId id)
      : s_(state), class_(size_class), pool_(pool), id_(id) {}

  // Writes up to `want` free objects to slots[0..], those to be used first last, and returns how
  // many: fewer only when the pool has no slab. `zero` becomes true if the last of them is zero.
  uint32_t fill(uintptr_t* slots, uint32_t want, bool* zero = nullptr);

  // Takes back slots[0..count). Reports and aborts on an object that is already free or is none.
  void drain(const uintptr_t* slots, uint32_t count);

  // For ageing. Ends a tick: so many objects of slabs that are not thinned were not needed in a
  // whole window. `if_quiet`: 0 if any object came back since the latest such call.
  uint32_t tick(bool if_quiet = false);
  // Has it any slab that would go when its objects came back? Takes no lock.
  bool may_shrink() const NOT_FOLLOWED {
    return s_.counts.slabs.seen() > s_.counts.populated_slabs.seen();
  }
  // Thins a slab; for how many objects. 0: there is none to thin, or the system refuses.
  uint32_t thin_one();

  // Reports and aborts on an object that is there twice or is none, but does not look whether it is
  // in use. Takes no lock. Both lists together have at most kInspectMost.
  static constexpr uint32_t kInspectMost = ClassTable::kRoundsLimit;
  void inspect(const uintptr_t* objects, uint32_t count, const uintptr_t* more = nullptr,
               uint32_t more_count = 0) const;

  // The start of the object that holds the address; 0: it is in no object of a slab. Takes no lock.
  uintptr_t object_at(uintptr_t address) const {
    const uint32_t slab = pool_.slab_of(id_, address);
    if (slab == SlabPool::kNone) return 0;
    const uintptr_t start = pool_.start_of(slab);
    const uint32_t object = class_.object_index(address - start);
    return object < class_.objects_per_slab ? start + uintptr_t{object} * class_.object_bytes : 0;
  }

  // Takes and populates slabs for so many objects more than before. From now on they stay. Returns
  // for how many objects: 0 when the pool has not as many or the system refuses; then no more stay
  // than before. Not while another thread populates.
  uint64_t populate(uint64_t objects);
  // Takes back the latest populate() of as many objects: their slabs may go again.
  void unpopulate(uint64_t objects);
  // The same on huge pages of the system's pool, as far as it has any.
  uint64_t populate_on_huge_pages(uint64_t objects);
  // For how many objects all these were. Calls for few objects each share slabs.
  uint64_t promised() const { return s_.promised.load(std::memory_order_relaxed); }
  bool is_reserved() const { return promised() != 0; }
  // So many that each thread may have the largest magazines: then there are some for 64 threads.
  bool is_reserved_for_many() const { return promised() >= kManyMagazines * class_.largest_rounds; }
  static constexpr uint64_t kManyMagazines = 128;

  size_t slab_bytes() const { return size_t{class_.units} << pool_.unit_shift(); }

  AreaStatistics statistics() const {
    const Lock lock(s_.mutex);
    return s_.counts;
  }
  // Where the counts lie, for a reader outside the process (heap_window.h).
  const AreaStatistics& counts() const NOT_FOLLOWED { return s_.counts; }

  enum Stays : uint8_t { kGoes, kPopulated, kOnHugePages };
  struct Record {
    uint32_t free;
    // All objects handed out since it was zero are among the first so many, counted from
    // first_object(); all if it was not.
    uint16_t used;
    Stays stays;
    bool thinned;
    uint64_t bits[1];  // objects_per_slab bits
  };

 private:
  Record& record(uint32_t slab) const {
    return *reinterpret_cast<Record*>(
        pool_.record(SlabPool::record_kind(class_.objects_per_slab), slab));
  }
  static constexpr uint32_t kMostWords = 64;  // of bits: 4096 objects of 16 bytes in a unit
  uint32_t words() const { return (class_.objects_per_slab + 63) / 64; }
  uint32_t free_unthinned() const UNDER(s_.mutex) {
    return static_cast<uint32_t>(s_.counts.free_objects - s_.thinned_objects);
  }
  // The object of a slab that is handed out first: behind so many sixteenths of it, which are
  // pages, and as many cache lines. One that began before would reach into two pages.
  uint32_t first_object(uint32_t slab) const {
    const size_t place = slab % 16 * (slab_bytes() / 16 + 64);
    const uint32_t at = class_.object_index(place + class_.object_bytes - 1);
    const uint32_t first = (at + class_.sharers - 1) & -class_.sharers;
    return first < class_.objects_per_slab ? first : 0;
  }
  uintptr_t* serve(uint32_t slab, bool lines, uintptr_t* low, uintptr_t* end, bool* zero)
      UNDER(s_.mutex);
  uint64_t whole_lines(uint64_t word) const;
  [[noreturn]] void refuse(uintptr_t address) const;
  uint32_t take_slab(Stays stays = kGoes) UNDER(s_.mutex);
  void adopt(uint32_t slab, bool zero, Stays stays) UNDER(s_.mutex);
  void let_go_of(uint32_t slab) UNDER(s_.mutex);
  void set_free(uint32_t slab, Record& r, uint32_t free) UNDER(s_.mutex);
  void set_thinned(uint32_t slab, Record& r, bool thinned) UNDER(s_.mutex);
  void purge_free(uint32_t slab, const uint64_t* bits) const;
  uint32_t slabs_for(uint64_t objects) const;
  bool populate_slab();
  void let_go(uint32_t slabs);

  State& s_;
  const SizeClass& class_;
  SlabPool& pool_;
  const ClassId id_;
};

}  // namespace pktmalloc
