// SPDX-License-Identifier: MIT
// Heap: the engine's front door. It joins one reservation of address space, its classes, the
// exchange between threads, and the return of memory to the system.
//
//     p - base =  | stripe | class | slab in piece | offset in slab |
//
// The address is the index: owner() is a subtraction, a comparison and a shift. Before start() it
// says that no pointer is ours. After addresses were given back, it looks closer.
//
// The program's threads find their Cache their own way (preload/process/thread.h); the heap only
// keeps the list. Without a cache, allocate() and release() work on the slabs directly. Layers
// below: cache, depot, magazine store, slab area, memory, class table. Knows nothing of malloc's
// contract, the environment or processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/ageing.h"
#include "sizeclass/caches.h"
#include "sizeclass/class_table.h"
#include "sizeclass/heap_window.h"
#include "sizeclass/huge_pages.h"
#include "sizeclass/memory_limit.h"
#include "sizeclass/object_states.h"
#include "sizeclass/statistics.h"

namespace pktmalloc {

struct HeapConfig {
  unsigned area_shift = 37;        // 128 GiB an area: 64 of them are 8 TiB of 128 in user space
  unsigned least_area_shift = 26;  // 64 MiB: with less, classes would exhaust at once
  // 64 MiB: a stripe is 4 GiB, which four second-level pages of page table entries cover. Smaller
  // pieces split a large heap into more mappings, two a piece; a process may have 65,530 by
  // default: with 64 MiB that is 2 TiB.
  unsigned piece_shift = 26;
  unsigned slab_shift = ClassTable::kSlabShift;  // at least a page's: slabs go back one by one
  size_t address_limit = ~size_t{0};             // bytes that all reservations together may take
  bool states = false;                           // keep a state for every object (object_states.h)
  uint64_t shuffle_seed = 0;  // hand out the objects of a slab in random order; 0: in their order
  uint64_t interval_ms = Ageing::kDefaultIntervalMs;
  uint64_t limit = MemoryLimit::kNone;  // bytes, see MemoryLimit
  uint64_t soft_limit = MemoryLimit::kNone;
  HugePages huge_pages = HugePages::kAuto;
  const size_t* sizes = nullptr;  // the user's classes, ascending; nullptr: the default table
  unsigned sizes_count = 0;
};

class Heap {
 public:
  constexpr Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Reserves address space, in smaller areas where the limit or the system demands it. False when
  // it cannot have even the smallest: then nothing is pooled, and the heap stays usable as such.
  // Call once, before the process has a second thread and before any other call but owner().
  bool start(const HeapConfig& config);

  // Gives the reservations back; for tests. No object or cache may be used afterwards.
  void stop();

  // The class whose area holds the pointer, perhaps an unused one; kMaxClasses: not ours.
  uintptr_t owner(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    if (distance >= bytes_) return kMaxClasses;
    const uintptr_t owner = (distance >> piece_shift_) % kMaxClasses;
    const bool all_ours = quick_bytes_ > 0;
    return all_ours || areas_[owner].holds(base_ + distance) ? owner : kMaxClasses;
  }
  // The same for the fast path, which passes on pointers that are not ours; then it passes on all.
  uintptr_t quick_owner(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    if (distance >= quick_bytes_) return kMaxClasses;
    return (distance >> piece_shift_) % kMaxClasses;
  }
  // Of a pointer that has a state; of any other it says nothing.
  ClassId class_by_address(const void* p) const {
    return static_cast<ClassId>(((reinterpret_cast<uintptr_t>(p) - base_) >> piece_shift_) %
                                kMaxClasses);
  }
  static constexpr bool is_class(uintptr_t owner) { return owner < kMaxClasses; }

  const ClassTable& classes() const { return classes_; }

  // Only if there are states. Of the object that begins at p, in the area of class `id`; p must be
  // where slabs have been used, as has_state() says.
  ObjectStates::Entry state_of(ClassId id, const void* p) const {
    return states_.entry(id, reinterpret_cast<uintptr_t>(p));
  }
  bool has_state(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    return states_.is_open((distance >> piece_shift_) % kMaxClasses, distance);
  }

  // For the checks: as in SlabArea, for class `id`.
  uintptr_t object_at(ClassId id, const void* p) const {
    return index(id) < classes_.count()
               ? areas_[index(id)].object_at(reinterpret_cast<uintptr_t>(p))
               : 0;
  }
  bool used_slab_holds(ClassId id, const void* p, size_t bytes_before) const {
    return areas_[index(id)].used_slab_holds(reinterpret_cast<uintptr_t>(p), bytes_before);
  }
  template <typename Visit>
  void each_object(ClassId id, Visit visit) const {
    areas_[index(id)].each_object(visit);
  }

  // A cache for the calling thread; nullptr when there is no memory for one. If the thread ends
  // without detach(), another one gets its caches, provided it has said what it is (holder.h).
  Cache* attach(void* thread = nullptr);
  // Gives back the cache's contents; it no longer belongs to the thread.
  void detach(Cache* cache);
  // A second cache for a thread that has one; it does not count as a thread.
  Cache* attach_second(void* thread = nullptr);
  void detach_second(Cache* cache);

  // Calls tell(thread) for the threads that said what they are. None of them detaches meanwhile;
  // those that have ended are left out.
  template <typename Tell>
  void each_thread(Tell tell) {
    const Lock lock(caches_.mutex());
    for (Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
      void* const thread = cache->holder.thread();
      if (thread != nullptr && !inherit(*cache)) tell(thread);
    }
  }
  // Before allocate(): see Cache::trade().
  void trade(Cache& cache, ClassId id, Cache& second) { cache.trade(supply_, id, second); }

  // See Cache::turn().
  bool turn(Cache& cache, ClassId id, uintptr_t object) { return cache.turn(supply_, id, object); }

  // The slow paths. allocate: nullptr when the class is exhausted or memory refused.
  void* allocate(Cache* cache, ClassId id);
  void release(Cache* cache, ClassId id, void* object);

  // Of what this thread freed last: reports and aborts if it is wrong.
  void inspect(Cache& cache) { cache.inspect_all(supply_); }

  // For callers with business elsewhere: lets ageing go on as at a trip.
  void visit(Cache& cache) { ageing_.visit(supply_, cache, kNoClass, Ageing::Visit::kPassing); }

  // Has memory ready for so many objects of the class more than before, and for the magazines that
  // take them: using it for the first time faults no page, and it never goes back. False when the
  // system refuses; then no more is kept than before.
  bool populate(ClassId id, uint64_t objects);  // populated_slabs.cpp

  // Before populate() of as many objects: puts huge pages of the system's pool under them, as far
  // as it has them. Returns their bytes. They never go back.
  uint64_t commit_from_pool(ClassId id, uint64_t objects);  // huge_slabs.cpp

  // Gives back all free memory except what other threads hold. `second`: the calling thread's
  // second cache, if any. Returns the bytes purged.
  uint64_t trim(Cache* cache, Cache* second = nullptr);

  // Also stops counting what the classes gave back against limits of data. For when the system
  // refuses memory: from then on every purged slab is committed anew, one by one.
  void decommit(Cache* cache);

  // Gives back all addresses but those of used slabs, for when addresses must be few. Later they
  // are mapped again as needed, unless somebody else took them meanwhile. `limit`: how many bytes
  // of addresses the process may have; below kFewAddresses no more slabs are opened for objects.
  void give_back_addresses(size_t limit) NOT_FOLLOWED;
  // To be told of each such limit, however high: what is too low now, or was before.
  bool must_know_limit(size_t limit) const { return limit < reserved_bytes() || quick_bytes_ == 0; }
  // Half-filled slabs of all classes take up to 12 MiB, which the next allocator need not lose.
  static constexpr size_t kFewAddresses = size_t{512} << 20;

  // For a background thread, see Ageing.
  uint64_t age() { return ageing_.run(supply_); }
  uint64_t waiting_bytes() const { return Ageing::waiting_in_all(supply_); }
  Ageing& ageing() { return ageing_; }
  MemoryLimit& limit() { return limit_; }
  // Is a slab of the class more than the limit leaves?
  bool is_at_limit(ClassId id) const {
    return id != kNoClass && limit_.left() < areas_[index(id)].slab_bytes();
  }

  // Around fork: takes all locks in rank order and stops exchange through the depots. Other threads
  // may go on inside their own magazines.
  void lock_all() AROUND_FORK;
  void unlock_all() AROUND_FORK;
  // In the child: its other threads are gone. The contents of their magazines stay counted as
  // cached in threads and are not reused: they may have been changing at the moment of the fork.
  void forget_other_threads(Cache* mine) NOT_FOLLOWED;

  // Somebody else serves an object of the class, a sample of the heap profile, say: the statistics
  // count it as the class's, its memory too. A new one was handed out just now.
  void count_outside(ClassId id, bool is_new) {
    outside_[index(id)].fetch_add(1, std::memory_order_relaxed);
    if (is_new) direct_allocs_[index(id)].fetch_add(1, std::memory_order_relaxed);
  }
  void uncount_outside(ClassId id) { outside_[index(id)].fetch_sub(1, std::memory_order_relaxed); }

  void statistics(HeapStatistics& out);  // heap_statistics.cpp has it and what follows
  // Can every lock be had soon, for statistics in a signal handler? Else this thread may hold one.
  bool can_lock() AROUND_FORK;
  // The same for a reader outside the process. Call after start().
  HeapWindow window() const;
  // Bytes of the classes' slabs in memory, as the system reports, and of what is outside; walks
  // over all pages.
  uint64_t resident_bytes();
  // Of what is outside.
  uint64_t outside_bytes() const;
  // Of slabs that are open, touched or not; those of magazines too.
  uint64_t open_bytes() const { return ageing_.growth().open_bytes(); }
  // Has any thread that runs still a cache? The caches of those that ended wait for others then.
  bool has_threads();
  uint64_t threads_alive() const { return threads_alive_.load(std::memory_order_relaxed); }
  uintptr_t base() const { return base_; }
  unsigned piece_shift() const { return piece_shift_; }  // pieces are aligned
  size_t area_bytes() const { return bytes_ / kMaxClasses; }
  size_t reserved_bytes() const { return bytes_ + bookkeeping_bytes_; }
  uint32_t slabs(ClassId id) const { return areas_[index(id)].place().slabs(); }  // at most
  bool started() const { return started_; }

 private:
  static constexpr unsigned kMagazineAreaShiftMost = 35;
  static constexpr size_t kCacheRegionMost = size_t{512} << 20;

  bool reserve(const HeapConfig& config, unsigned area_shift);
  Cache* take_cache(void* thread) UNDER(caches_.mutex());
  bool inherit(Cache& cache) UNDER(caches_.mutex());

  // No pointer is ours until start(). These three are plain and read without order, like the class
  // table: acquire loads would cost free two instructions. Thread creation orders them, because
  // start() comes first (docs/concurrency.md, after the atomics).
  uintptr_t base_ = 0;
  uintptr_t quick_bytes_ = 0;  // like bytes_; 0: addresses were given back, not all are ours
  uintptr_t bytes_ = 0;
  unsigned piece_shift_ = 0;
  bool started_ = false;
  ClassTable classes_;
  SlabArea areas_[kMaxClasses];
  ObjectStates states_;
  MagazineStore store_;
  Depot depot_;
  MemoryLimit limit_;
  Ageing ageing_;
  Supply supply_{classes_, areas_, depot_, store_};

  void* bookkeeping_ = nullptr;
  size_t bookkeeping_bytes_ = 0;
  size_t early_committed_bytes_ = 0;

  Caches caches_;
  uint64_t shuffle_seed_ = 0;
  uint64_t threads_seen_ GUARDED_BY(caches_.mutex()) = 0;
  std::atomic<uint64_t> threads_alive_ = 0;
  std::atomic<uint64_t> direct_allocs_[kMaxClasses]{};  // objects that came from no cache
  std::atomic<uint64_t> outside_[kMaxClasses]{};        // live ones that others serve
};

}  // namespace pktmalloc
