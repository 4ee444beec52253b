// SPDX-License-Identifier: MIT
// Cache: a thread's free lists, one per class; the fast path is here.
//
// For each class a thread holds two magazines, loaded and previous (Bonwick & Adams 2001). It
// stores only the address of the loaded one's top object. On underflow and overflow it first swaps
// the two; it asks the depot only when both are empty or both are full, so a program that hovers
// around a boundary stays in the thread. Capacities start small and grow fourfold at each such
// trip.
//
// A common trip swaps a magazine for another in the mail (mail.h), by a leaf function that touches
// few cache lines: take_lean() and give_lean(). They do nothing else, so they leave the trip to
// allocate_slow() and release_slow() where anything else may be due.
//
// An unused class points at the sentinel, a constant magazine that is empty and full at once. In
// kNullCache every class does: it stands for "no cache" (thread not started, thread ended, every
// call to be seen), so allocate() and release() test for none of these.
//
// Owned by one thread; others may call only statistics(), under the heap's list lock. A cache is
// never unmapped: it passes to the next thread with its counters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/base/class_id.h"
#include "sizeclass/base/owned.h"
#include "sizeclass/base/raised.h"
#include "sizeclass/base/statistics.h"
#include "sizeclass/exchange/depot.h"
#include "sizeclass/exchange/magazine.h"
#include "sizeclass/exchange/magazine_store.h"
#include "sizeclass/heap/budget.h"
#include "sizeclass/heap/due.h"
#include "sizeclass/heap/holder.h"
#include "sizeclass/slabs/class_table.h"
#include "sizeclass/slabs/slab_area.h"

namespace pktmalloc {

// What a cache draws from; one per heap.
struct Supply {
  const ClassTable& classes;
  SlabArea::State* areas;  // by class
  SlabPool* pools[2];      // theirs, and that of magazines
  Depot& depot;
  MagazineStore& store;
  class Caches& caches;

  SlabArea area(ClassId id) const { return {areas[index(id)], classes[id], *pools[0], id}; }
  // Empties the magazine into the slabs, and returns it.
  Magazine* drain(ClassId id, Magazine* magazine) const;
};

inline constexpr uintptr_t kSentinel[2] = {kEmptyMark, kFullMark};

class alignas(64) Cache {
  friend class RemoteCache;  // reads a copy, outside the process (heap_window.h)

  // First, so that the fast path addresses them without an offset.
  Owned<uintptr_t*> tops_[kMaxClasses];
  Owned<uint64_t> allocated_[kMaxClasses]{};
  // What each trip looks at, in one line.
  uint64_t seen_ = Due::kNever;  // of Due::word()
  bool changing_ = false;        // a signal may find the cache half changed

 public:
  uint32_t watched_calls = 0;  // since the latest trip
  uint8_t home = 0;            // where it exchanges magazines (depot.h)
  bool tripped = false;        // set by the slow paths when they went to depot or slabs

  constexpr Cache() {
    for (auto& top : tops_) top = const_cast<uintptr_t*>(kSentinel);
  }

  // An object, or nullptr: then call allocate_slow().
  void* allocate(ClassId id, bool prefetches = true) {
    const size_t i = static_cast<size_t>(id);  // full width: spares the fast path an extension
    uintptr_t* const top = tops_[i];
    const uintptr_t object = *top;
    if (object == kEmptyMark) [[unlikely]]
      return nullptr;
    if (prefetches) machine::prefetch_for_writing(top[-kAhead]);
    tops_[i] = top - 1;
    ++allocated_[i];
    return reinterpret_cast<void*>(object);
  }

  // While the thread is watched. nullptr, too, where a look is due (ageing.h). Not inlined: lean
  // trips stay as short as they are.
  void* allocate_unlooked(ClassId id, const Due& due);

  // Of an object that is known to be in use. False when there is no room: then call release_slow().
  bool put(ClassId id, void* object) {
    const size_t i = static_cast<size_t>(id);
    uintptr_t* const top = tops_[i];
    if (top[1] == kFullMark) return false;
    top[1] = reinterpret_cast<uintptr_t>(object);
    tops_[i] = top + 1;
    return true;
  }
  // Of any; false also when the object was released just before.
  bool release(ClassId id, void* object) {
    const uintptr_t* const top = tops_[static_cast<size_t>(id)];
    if (top[1] == kFullMark || top[0] == reinterpret_cast<uintptr_t>(object)) return false;
    return put(id, object);
  }

  // The same for many at once: how many of the objects were served, the first ones. The next one
  // then is for allocate() or release(), as it is if there was none.
  size_t allocate_run(ClassId id, void** objects, size_t count);
  // The first one is of the class; so are those that lie in the same unit, of 1 << unit_shift
  // bytes. The others end the run.
  size_t release_run(ClassId id, void* const* objects, size_t count, unsigned unit_shift);

  // Lets the sampler see some allocations (preload/recording/sampler.h): after a given number of
  // objects of the class, allocate() fails as if there were none. unmark() undoes that and must run
  // before the next allocate_slow(); the cache calls it itself where it needs the magazine.
  struct Marks {
    uintptr_t* slot[kMaxClasses];   // where kEmptyMark lies; nullptr: nowhere
    uintptr_t object[kMaxClasses];  // what lay there
  };
  void mark_after(ClassId id, uint64_t objects);
  void unmark(ClassId id);
  uint64_t allocated(ClassId id) const { return allocated_[index(id)]; }
  Marks* marks = nullptr;  // nullptr: nobody marks

  // For a thread that allocates from this cache and releases into another: swaps an empty magazine
  // here for a well filled one there, so that the objects freed last are used first without going
  // through the depot. Counts as a trip.
  void trade(const Supply& supply, ClassId id, Cache& other);

  // After allocate() failed: an object if nothing is to be done but to swap magazines, the thread's
  // own or for one in the mail; else nullptr. Also on the null cache.
  void* take_lean(ClassId id, Depot& depot, const Due& due);  // lean_trip.h
  // After release() failed, likewise.
  bool give_lean(ClassId id, void* object, Depot& depot, const Due& due);
  // From now on trips may be lean while nothing but the word changes; Due::kNever: none may.
  void saw(uint64_t word) { seen_ = word; }
  uint64_t seen() const { return seen_; }

  // After allocate() failed. nullptr when neither depot nor slabs have an object; without `fills`
  // slabs are not asked.
  void* allocate_slow(const Supply& supply, ClassId id, bool fills = true);

  // From now on what slabs give is handed out in random order, near what lies near. `seed`: not 0.
  void shuffle(uint64_t seed) { random_ = seed; }

  // After release() failed. Takes the object, or reports that it is free already.
  void release_slow(const Supply& supply, ClassId id, void* object);

  // Drains to the slabs, which find wrong frees, what the thread has of one class that made no trip
  // for so many ticks, except class `busy`, which is making one. False: there is none, or a signal
  // interrupted a change.
  bool flush_idle(const Supply& supply, uint32_t ticks, ClassId busy);

  // After its thread ended without a word: the next one may have it as it is. False where a signal
  // interrupted a change.
  bool recover();

  // Gives everything to the depot; every class points at the sentinel again. `keeps_few`: but not
  // where a class has no more than a magazine of the usual size.
  void flush(const Supply& supply, bool keeps_few = false);

  // `sum`, and what this cache counts.
  CacheStatistics statistics(ClassId id, CacheStatistics sum = {}) const;

  // Counts an event for the owner; kept here because a cache outlives its threads.
  void tally(unsigned what) { ++tallies_[what]; }
  uint64_t tallied(unsigned what) const { return tallies_[what].seen(); }

  // Where lies what the fast path uses, in bytes from the start, for code that is inlined into
  // programs.
  static constexpr size_t kTopsAt = 0;
  static constexpr size_t kAllocatedAt = kMaxClasses * sizeof(uintptr_t*);

  // Owned by the heap (heap.h, ageing.h).
  struct Visits {
    uint32_t tick = 0;                       // when this thread last came by
    uint64_t last_ms = 0;                    // likewise
    uint32_t hover_since = 0U - (1U << 30);  // tick at which it began to hover; first, long ago
    // Watched calls it can still pay for; at first as many as show that it hovers, and some.
    Budget tokens{6000};
    Budget work{0};         // microseconds of ageing, see there
    bool watched = false;   // every allocation of this thread must reach the slow path
    uint32_t unlooked = 0;  // so many more of them need no look, unless the time has come
    bool sweeps = false;    // some classes may not have been looked at since the latest tick
  } visits;
  Cache* next = nullptr;       // in the list of all caches
  Cache* next_free = nullptr;  // in the list of caches without a thread
  bool counts = false;         // as a thread's first one, among the threads that are alive
  Holder holder;
  // What waits in its thread (hardened_entry.cpp), or in one that ended past its destructors.
  void* waiting = nullptr;

 private:
  struct alignas(64) Line {
    Owned<Magazine*> loaded;          // nullptr: the sentinel is loaded
    Owned<Magazine*> previous;        // nullptr until needed
    Owned<uint32_t> previous_rounds;  // its objects
    uint16_t last_trip = 0;           // tick number, its lowest bits
    uint16_t last_look = UINT16_MAX;  // likewise, for wrong frees, of a busy thread; else before
    uint16_t rounds = 0;     // capacity of the next magazine obtained; 0 = class not used yet
    uint16_t lean = 0;       // so many more trips may be lean
    uint16_t streak_ms = 0;  // when a streak of trips began that is timed; 0: none is
    uint8_t source = 0;      // the home that the latest magazine came from
    uint8_t swaps = 0;       // full for empty, since the latest trip or balance()
    Owned<uint64_t> taken, given, takes, gives;
  };
  static_assert(sizeof(Line) == 64);

  // Full for empty, so often the thread swaps its own two before it balances them.
  static constexpr uint8_t kHovers = 8;
  // A look for wrong frees costs 3 ns an object. So a busy thread, with so many objects of a class
  // behind it, looks at one magazine a tick only: an error that comes again is found all the same.
  static constexpr uint64_t kInspectAll = uint64_t{64} * ClassTable::kRoundsLimit;

  void note_trip(Line& line, uint64_t tick) {
    line.swaps = 0;
    line.last_trip = static_cast<uint16_t>(tick);
    watched_calls = 0;
  }
  static void note_taken(Line& line, uint32_t rounds) {
    line.taken += rounds;
    ++line.takes;
  }
  void note_given(Line& line, uint32_t rounds) {
    line.given += rounds;
    ++line.gives;
    line.source = home;
  }
  static void grow(const SizeClass& size_class, Line& line);
  void trip(const Supply& supply, ClassId id, Line& line);
  void load(ClassId id, Line& line, Magazine* magazine);
  void unload(ClassId id, Line& line);
  void swap(ClassId id, Line& line);
  void set_previous(Line& line, Magazine* magazine);
  Magazine* enlarge(const Supply& supply, const Line& line, Magazine* empty);
  void balance(const Supply& supply, ClassId id, Line& line);
  void shuffle(uintptr_t* objects, uint32_t count);
  bool take_or_fill(const Supply& supply, ClassId id, Line& line, bool fills);
  Magazine* make_room(const Supply& supply, ClassId id, Line& line);
  static void inspect(const SlabArea& area, Magazine* magazine, Magazine* later);
  void give(const Supply& supply, ClassId id, Line& line, Magazine* magazine);
  void flush_class(const Supply& supply, ClassId id, Line& line, bool to_depot);

  Line lines_[kMaxClasses];
  Owned<uint64_t> tallies_[kTallies];
  uint64_t random_ = 0;  // 0: no shuffling
};

extern const Cache kNullCache __attribute__((visibility("hidden")));

}  // namespace pktmalloc
