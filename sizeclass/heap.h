// SPDX-License-Identifier: MIT
// Heap: the engine's front door. One reservation of address space, its classes, the exchange
// between threads, and the way back to the system.
//
//     p - base =  | stripe | class | slab in piece | offset in slab |
//
// The address is the index: owner() is a subtraction, a comparison and a shift. Before start() it
// says of every pointer that it is not ours. When addresses were given back, it looks closer.
//
// The program's threads reach their Cache in their own way (preload/process/thread.h); the heap
// only keeps the list of them. allocate() and release() accept no cache and then work on the slabs
// directly. Layers below: cache, depot, magazine store, slab area, memory, class table. Knows
// nothing of malloc's contract, of the environment or of processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/ageing.h"
#include "sizeclass/caches.h"
#include "sizeclass/class_table.h"
#include "sizeclass/heap_window.h"
#include "sizeclass/statistics.h"

namespace pktmalloc {

struct HeapConfig {
  unsigned area_shift = 37;        // 128 GiB an area: 64 of them are 8 TiB of 128 in user space
  unsigned least_area_shift = 26;  // 64 MiB: below, classes would exhaust at once
  // 64 MiB: a stripe is 4 GiB, which four pages of page table entries of the second level cover.
  // Smaller pieces split a large heap into more mappings, two a piece, of which a process may have
  // 65,530 by default: with 64 MiB that is 2 TiB.
  unsigned piece_shift = 26;
  unsigned slab_shift = ClassTable::kSlabShift;
  size_t address_limit = ~size_t{0};  // bytes that all reservations together may take
  uint64_t interval_ms = Ageing::kDefaultIntervalMs;
  const size_t* sizes = nullptr;  // the user's classes, ascending; none: the default table
  unsigned sizes_count = 0;
};

class Heap {
 public:
  constexpr Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Reserves address space, in smaller areas where the limit or the system demands it. False when
  // even the smallest cannot be had: then nothing is pooled and the heap stays usable as such.
  // Once, before the process has a second thread and before any other call but owner().
  bool start(const HeapConfig& config);

  // Gives the reservations back; for tests. No object or cache may be used afterwards.
  void stop();

  // The class whose area the pointer lies in, one that is not in use perhaps; kMaxClasses: not
  // ours.
  uintptr_t owner(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    if (distance >= bytes_) return kMaxClasses;
    const uintptr_t owner = (distance >> piece_shift_) % kMaxClasses;
    const bool all_ours = quick_bytes_ > 0;
    return all_ours || areas_[owner].holds(base_ + distance) ? owner : kMaxClasses;
  }
  // The same for the fast path, which passes on what is not ours: then that is everything.
  uintptr_t quick_owner(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    if (distance >= quick_bytes_) return kMaxClasses;
    return (distance >> piece_shift_) % kMaxClasses;
  }
  static constexpr bool is_class(uintptr_t owner) { return owner < kMaxClasses; }

  const ClassTable& classes() const { return classes_; }

  // For the checks: as SlabArea, of the class `id`.
  uintptr_t object_at(ClassId id, const void* p) const {
    return index(id) < classes_.count()
               ? areas_[index(id)].object_at(reinterpret_cast<uintptr_t>(p))
               : 0;
  }
  template <typename Visit>
  void each_object(ClassId id, Visit visit) const {
    areas_[index(id)].each_object(visit);
  }

  // A cache for the calling thread; nullptr when there is no memory for one.
  Cache* attach();
  // Gives its contents back; the cache is no longer the thread's.
  void detach(Cache* cache);
  // A further cache for a thread that has one; it does not count as a thread.
  Cache* attach_second();
  void detach_second(Cache* cache);
  // Before allocate(): see Cache::trade().
  void trade(Cache& cache, ClassId id, Cache& second) { cache.trade(supply_, id, second); }

  // The slow paths. allocate: nullptr when the class is exhausted or memory refused.
  void* allocate(Cache* cache, ClassId id);
  void release(Cache* cache, ClassId id, void* object);

  // For callers that had business elsewhere: lets ageing work go on as at a trip.
  void visit(Cache& cache) { ageing_.visit(supply_, cache, kNoClass, Ageing::Visit::kPassing); }

  // Gives back everything free but what other threads hold. `second`: the further cache of the
  // calling thread, if it has one. Returns the bytes purged.
  uint64_t trim(Cache* cache, Cache* second = nullptr);

  // The same, and what the classes gave back counts against limits of data no longer. For when the
  // system refuses memory: every slab that was purged is committed anew, one by one, from then on.
  void decommit(Cache* cache);

  // Gives back all addresses but those of used slabs: for when they are to be few. From then
  // on they are had again as they are needed, where nobody else got them meanwhile.
  void give_back_addresses() NOT_FOLLOWED;

  // For a background thread, see Ageing.
  uint64_t age() { return ageing_.run(supply_); }
  uint64_t waiting_bytes() const { return Ageing::waiting_in_all(supply_); }
  Ageing& ageing() { return ageing_; }

  // Around fork: all locks in rank order, and no exchange through the depots. Other threads may go
  // on inside their own magazines.
  void lock_all() AROUND_FORK;
  void unlock_all() AROUND_FORK;
  // In the child: its other threads are gone. What their magazines held stays counted as cached in
  // threads and is not used again: they may have been changing at the moment of the fork.
  void forget_other_threads(const Cache* mine);

  void statistics(HeapStatistics& out);
  // The same for a reader outside of the process. After start().
  HeapWindow window() const;
  // Bytes of the classes' slabs that are in memory, as the system says: a walk over all pages.
  uint64_t resident_bytes();
  uint64_t threads_alive() const { return threads_alive_.load(std::memory_order_relaxed); }
  size_t area_bytes() const { return bytes_ / kMaxClasses; }
  size_t reserved_bytes() const { return bytes_ + bookkeeping_bytes_; }
  uint32_t slabs(ClassId id) const { return areas_[index(id)].place().slabs(); }  // at most
  bool started() const { return started_; }

 private:
  static constexpr unsigned kMagazineAreaShiftMost = 35;
  static constexpr size_t kCacheRegionMost = size_t{512} << 20;

  bool reserve(const HeapConfig& config, unsigned area_shift);
  Cache* take_cache() UNDER(caches_.mutex());

  // No pointer is ours until start(). These three are plain and read without order, as the class
  // table is: loads with acquire would cost free two instructions. The creation of a thread orders
  // them, because start() comes before (docs/concurrency.md, after the atomics).
  uintptr_t base_ = 0;
  uintptr_t quick_bytes_ = 0;  // as bytes_; 0: addresses were given back, not all are ours
  uintptr_t bytes_ = 0;
  unsigned piece_shift_ = 0;
  bool started_ = false;
  ClassTable classes_;
  SlabArea areas_[kMaxClasses];
  MagazineStore store_;
  Depot depot_;
  Ageing ageing_;
  Supply supply_{classes_, areas_, depot_, store_};

  void* bookkeeping_ = nullptr;
  size_t bookkeeping_bytes_ = 0;
  size_t early_committed_bytes_ = 0;

  Caches caches_;
  uint64_t threads_seen_ GUARDED_BY(caches_.mutex()) = 0;
  std::atomic<uint64_t> threads_alive_ = 0;
  std::atomic<uint64_t> direct_allocs_[kMaxClasses]{};  // objects that threads without cache took
};

}  // namespace pktmalloc
