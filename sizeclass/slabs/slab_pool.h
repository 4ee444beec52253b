// SPDX-License-Identifier: MIT
// SlabPool: the units that all classes share, and the map that says whose each one is.
//
//     base:  | map: an entry for each unit | unit | unit | unit | ...
//     entry: | owner: its class, 0: none | back: units to its slab's first one |
//
// A unit is 64 KiB. A slab is one unit or several in a row; a class takes one when it has no free
// object left and gives it back when all its objects are free. A block, also in a row, is one
// request that no class serves. So memory goes from class to class without a call of the system,
// and the used units lie close together: few pages of page tables, and whole huge pages. A unit is
//
//     owned    a class has it, or a block
//     empty    no class has it; its memory is resident and waits (ageing.h)
//     purged   its memory went back, and reads as zero
//     fresh    not mapped yet: everything behind the last unit that was ever used
//
// A slab is taken from the lowest units that lie together: empty ones, else purged ones as well,
// else those at the end and fresh ones. Purging begins at the top. Small programs use few pages,
// and large ones leave the top, as address-ordered first fit does (Wilson et al. 1995).
//
// Bookkeeping lies far away, in chapters of 64 units, which are mapped as the pool grows:
//
//     | words of sets | records of up to 64 objects | of up to 512 | of up to 4096 |
//
// Each unit has room for a record of each kind; its class uses one (slab_area.h). Neighbours in a
// chapter share pages, and only used records are touched.
//
// Any thread may read the map: what it says of a live object does not change. All else happens
// under mutex, which comes after the classes' locks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/growing_memory.h"
#include "sizeclass/base/low_water.h"
#include "sizeclass/base/memory_limit.h"
#include "sizeclass/base/mutex.h"
#include "sizeclass/base/owned.h"
#include "sizeclass/base/statistics.h"
#include "sizeclass/slabs/class_table.h"
#include "sizeclass/slabs/object_states.h"
#include "sizeclass/slabs/slab_set.h"

namespace pktmalloc {

class SlabPool {
 public:
  static constexpr unsigned kUnitShift = ClassTable::kUnitShift;
  static constexpr uint32_t kNone = SlabSet::kNone;

  // Of a unit that no class has, `back` is the class that had it last, 0 if that was none, or one
  // of the marks: of a block's first unit and the others, and of where one began.
  struct alignas(2) Entry {
    uint8_t owner;
    uint8_t back;
  };
  enum Mark : uint8_t { kBlockBegan = 0xFD, kBlockBegins, kBlockGoesOn };
  static bool is_of_block(Entry at) { return at.owner == 0 && at.back >= kBlockBegins; }

  struct Config {
    uintptr_t begin;          // of the map, aligned to the largest alignment of an object
    size_t most;              // bytes of map and units
    uintptr_t records;        // where bookkeeping begins
    Owned<uintptr_t>* bytes;  // becomes what bytes() returns
    unsigned unit_shift = kUnitShift;
    unsigned rank = 0;  // among pools
    HugePages huge_pages = HugePages::kAuto;
    bool zeroes = false;             // what a class takes is zero always
    ObjectStates* states = nullptr;  // opened before anybody has the units: any thread may look
  };
  // Bytes of bookkeeping for so many of units.
  static size_t record_bytes(size_t bytes, unsigned unit_shift = kUnitShift);

  // Once, before any other call. It maps nothing before the first slab is taken.
  void start(const Config& config, MemoryLimit& limit);

  unsigned unit_shift() const { return config_.unit_shift; }
  size_t unit_bytes() const { return bytes_in(1); }
  uintptr_t base() const { return config_.begin; }
  bool has_states() const { return config_.states != nullptr; }
  uintptr_t start_of(uint32_t unit) const { return base() + bytes_in(unit); }
  Entry entry(uint32_t unit) const {
    return std::atomic_ref(map()[unit]).load(std::memory_order_relaxed);
  }
  // Of the address's unit; where none is, nobody has it or had it.
  Entry entry_of(uintptr_t address) const {
    const uintptr_t distance = address - base();
    return distance < bytes() ? entry(units_in(distance)) : Entry{};
  }

  // The first unit of the slab that holds the address, if it is the class's; else kNone.
  uint32_t slab_of(ClassId id, uintptr_t address) const {
    const uintptr_t distance = address - base();
    if (distance >= bytes()) return kNone;
    const uint32_t unit = units_in(distance);
    const Entry at = entry(unit);
    return at.owner == index(id) ? unit - at.back : kNone;
  }

  // The class that had the address's unit last, if nobody has it now; else kNoClass.
  ClassId former_class(uintptr_t address) const {
    const Entry at = entry_of(address);
    return at.owner == index(kNoClass) ? former_of(at) : kNoClass;
  }

  // From base() on, map included: addresses that are ours. It changes only with the mapped units.
  uintptr_t bytes() const { return config_.bytes->seen(); }
  // To so many it may grow.
  size_t most() const { return config_.most; }

  // A slab of so many units for the class, a block for kNoClass; its first one. kNone: a limit, or
  // the system, refuses.
  struct Taken {
    uint32_t unit;
    bool clean;  // all zero
  };
  Taken take(ClassId id, uint32_t units);

  // So many slabs in a row, from fresh units alone, that begin on huge pages of the system's pool;
  // `slabs` becomes fewer if it has not enough pages. The first unit; kNone: none.
  uint32_t take_on_huge_pages(ClassId id, uint32_t units, uint32_t& slabs);

  // Nobody uses the slab any more. It keeps its contents.
  void give(ClassId id, uint32_t unit, uint32_t units) {
    const Lock lock(mutex);
    put_back(id, unit, units);
  }

  // The units of the block that begins there, or that began there before and whose first unit
  // nobody has had since; 0: none does. Only its owner may believe it.
  uint32_t block_at(uintptr_t address, Mark mark = kBlockBegins) const {
    return is_marked(address, mark) ? block_units(units_in(address - base())) : 0;
  }
  // Where the block begins that holds the address; 0: none does.
  uintptr_t block_of(uintptr_t address) const {
    while (entry_of(address).back == kBlockGoesOn) address -= unit_bytes();
    address &= -unit_bytes();
    return is_marked(address, kBlockBegins) ? address : 0;
  }
  // Gives the last units of a block back, perhaps all, or takes those behind it, so that it has so
  // many. How many it had; 0: no block begins there, or those behind are in use, or refused.
  static constexpr uint32_t kMostBlock = 512;  // units; no fewer than a huge page has
  uint32_t resize_block(uintptr_t address, uint32_t units);
  // Purges at most so many units of freed blocks, the highest first, while more of them wait than
  // live blocks have, or than 64 MiB or what blocks lately took again, if that is more. None where
  // huge pages were asked for. The caller holds the lock of ageing.
  static constexpr uint64_t kMostOfBlocks = uint64_t{64} << 20;
  void purge_excess(uint32_t most);

  // Where a class has its set's words, and the records of its slabs.
  void* words(ClassId id) const { return words(index(id)); }
  void* words_of_thinned(ClassId id) const { return words(kPurgedSet + 1 + index(id)); }
  size_t words_stride() const { return chapter_bytes_; }
  const char* chapters() const { return chapters_; }
  // The kind of record of a slab with so many objects: 0, 1, 2 for small, middle and large.
  static unsigned record_kind(uint32_t objects) { return (objects > 64) + (objects > 512); }
  // In bytes from where the chapter of unit 0 would be.
  static size_t record_at(unsigned kind, uint32_t unit, size_t chapter_bytes) {
    const RecordPlace place = kRecordPlaces[kind];
    return size_t{unit / 64} * chapter_bytes + place.at + unit % 64 * place.bytes;
  }
  char* record(unsigned kind, uint32_t unit) const {
    return chapters_ + record_at(kind, unit, chapter_bytes_);
  }

  // Ends a tick: how many empty units nobody needed in a whole window, including those of earlier
  // ticks that were not purged. `trims`: the system may be asked for all again.
  uint32_t tick(bool trims = false);
  // Purges a few of the empty units, at most `most` but at least one group of a huge page where
  // there are any; returns how many. 0: none is to be had. Also if the system refuses, as it does
  // for locked memory: these are passed over until the next tick. `splits`: also parts of huge
  // pages.
  uint32_t purge_some(uint32_t most, bool splits = false);
  // Whole pages of a slab of the class, unless the system refuses.
  void purge_pages(ClassId id, uintptr_t start, size_t bytes);
  // False: that would split a huge page that was asked for.
  bool lets_purge_pages(uint32_t unit);
  // For when the system refuses memory: purged units no longer count against limits of data, and
  // those at the top give back their addresses, too.
  void decommit();

  // False: from now on it has the units that it has used, and no others.
  void let_grow(bool grows) UNDER(mutex) { grows_ = grows; }

  // Any thread may ask.
  uint32_t empty_units() const NOT_FOLLOWED { return empty_.count(); }
  // Of empty units, but for those that the system refuses to take.
  uint64_t waiting_bytes() const {
    const uint32_t empty = empty_units();
    return bytes_in(empty - std::min(empty, refused_units_.load(std::memory_order_relaxed)));
  }
  // Also for a reader outside the process (heap_window.h); any thread. Bytes.
  struct Counts {
    std::atomic<uint64_t> used;         // units that were ever used: first_unit() and up
    std::atomic<uint64_t> open;         // of these, owned or empty
    std::atomic<uint64_t> taken;        // since start: by classes, and what was not empty by blocks
    std::atomic<uint64_t> purged;       // since start
    std::atomic<uint64_t> mapped;       // units and bookkeeping
    std::atomic<uint64_t> bookkeeping;  // of these, the map and the records
    std::atomic<uint64_t> blocks_taken, blocks_given;  // since start
    std::atomic<uint64_t> block_bytes;                 // of those that are there
  };
  const Counts& counts() const { return counts_; }
  // Of all units, or of those that a class has or had last; walks over all pages.
  uint64_t resident_bytes(bool with_blocks = true) const;

  const PoolShare& share(ClassId id) const NOT_FOLLOWED { return shares_[index(id)]; }
  uint32_t first_unit() const { return first_; }
  // Units from here on have not been used.
  uint32_t fresh() const { return first_ + units_in(counts_.used.load(std::memory_order_relaxed)); }
  Mutex mutex;

 private:
  // Words of sets, by class, then those of the pool's own.
  static constexpr unsigned kEmptySet = kMaxClasses, kPurgedSet = kMaxClasses + 1;
  // By kind: where a chapter has its records, from a whole cache line on, and bytes of one.
  struct RecordPlace {
    size_t at, bytes;
  };
  static constexpr size_t kWords = 1088;
  static constexpr RecordPlace kRecordPlaces[] = {
      {kWords, 16}, {kWords + size_t{64} * 16, 72}, {kWords + size_t{64} * (16 + 72), 520}};
  static constexpr size_t kChapter = kWords + size_t{64} * (16 + 72 + 520);

  Entry* map() const { return reinterpret_cast<Entry*>(base()); }
  uint64_t bytes_in(uint32_t units) const { return uint64_t{units} << config_.unit_shift; }
  uint32_t units_in(uint64_t bytes) const {
    return static_cast<uint32_t>(bytes >> config_.unit_shift);
  }
  void* words(unsigned set) const { return chapters_ + set * sizeof(uint64_t); }
  bool make_usable(uint32_t unit, uint32_t end) UNDER(mutex);
  bool commit(uint32_t unit, uint32_t end) UNDER(mutex);
  uint32_t open(ClassId id, uint32_t units) UNDER(mutex);
  bool open_at(ClassId id, uint32_t unit, uint32_t units) UNDER(mutex);
  bool grow(ClassId id, uint32_t end) UNDER(mutex);
  bool grow_to(uint32_t end) UNDER(mutex);
  void note_mapped() UNDER(mutex);
  void set_fresh(uint32_t fresh) UNDER(mutex);
  bool own(ClassId id, uint32_t unit, uint32_t units);
  void set_entries(uint32_t unit, uint32_t units, unsigned owner, unsigned back);
  bool is_marked(uintptr_t address, Mark mark) const {
    const Entry at = entry_of(address);
    return address % unit_bytes() == 0 && at.owner == index(kNoClass) && at.back == mark;
  }
  static ClassId former_of(Entry nobodys) {
    return nobodys.back < kMaxClasses ? static_cast<ClassId>(nobodys.back) : kNoClass;
  }
  PoolShare& latest_share(uint32_t unit) UNDER(mutex) {
    return shares_[index(former_of(entry(unit)))];
  }
  uint32_t leave_sets(uint32_t unit, uint32_t units) UNDER(mutex);
  void put_empty(uint32_t unit, uint32_t units) UNDER(mutex);
  void put_purged(uint32_t unit, uint32_t units) UNDER(mutex);
  void put_back(ClassId id, uint32_t unit, uint32_t units) UNDER(mutex);
  // In its first unit's record.
  uint32_t& block_units(uint32_t unit) const {
    return *reinterpret_cast<uint32_t*>(record(0, unit));
  }
  void set_block(uint32_t unit, uint32_t had, uint32_t units);
  struct Run {
    uint32_t low, count;
  };
  Run run_to_purge(uint32_t most, bool splits) UNDER(mutex);
  bool purge(Run run) UNDER(mutex);
  void set_refused(uint32_t from, uint32_t units, uint32_t ticks) UNDER(mutex) {
    refused_from_ = from;
    refused_ticks_ = ticks;
    refused_units_.store(units, std::memory_order_relaxed);
  }
  size_t records_to(uint32_t end) const {
    return (end / 64 - first_ / 64 + size_t{1}) * chapter_bytes_;
  }
  uint32_t units_end() const UNDER(mutex) { return first_ + units_in(units_.bytes()); }
  char* at(uint32_t unit) const { return reinterpret_cast<char*>(start_of(unit)); }

  // Of zeros until start(): the heap has no contents in the library's file.
  Config config_{.begin = 0, .most = 0, .records = 0, .bytes = nullptr, .unit_shift = 0};
  uint32_t first_ = 0;
  size_t chapter_bytes_ = 0;
  char* chapters_ = nullptr;      // where that of unit 0 would be
  MemoryLimit* limit_ = nullptr;  // of all units that are owned or empty
  bool grows_ GUARDED_BY(mutex) = false;
  // Units that blocks took again after they were purged, as many as then lived at most; an eighth
  // less each tick.
  uint32_t retaken_ GUARDED_BY(mutex) = 0;
  // counts_.purged at the latest decommit(); if not 0, purged units may be no longer usable.
  uint64_t withdrawn_at_ GUARDED_BY(mutex) = 0;
  GrowingMemory map_memory_, units_, records_;
  uint32_t huge_from_ GUARDED_BY(mutex) = 0;  // units from here on may have huge pages
  SlabSet empty_ GUARDED_BY(mutex), purged_ GUARDED_BY(mutex);
  RunSearch empty_runs_ GUARDED_BY(mutex), runs_ GUARDED_BY(mutex);  // of empty units; of both
  LowWater empty_low_ GUARDED_BY(mutex);
  uint32_t freed_blocks_end_ GUARDED_BY(mutex) = 0;  // above, none waits that need not
  // The system is not asked to purge units from here on, for so many ticks, 0 being this one; how
  // many it refused.
  uint32_t refused_from_ GUARDED_BY(mutex) = 0, refused_ticks_ GUARDED_BY(mutex) = 0;
  std::atomic<uint32_t> refused_units_ = 0;
  Counts counts_{};
  PoolShare shares_[kMaxClasses] GUARDED_BY(mutex){};
};

}  // namespace pktmalloc
