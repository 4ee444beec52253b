// SPDX-License-Identifier: MIT
// Heap: the engine's front door. It joins the pool of units, its classes, the exchange between
// threads, and the return of memory to the system.
//
//     p - base =  | unit | offset in unit |        map at base: unit -> class
//
// The map is the index: class_of() is a subtraction, a comparison, a shift and a load. Before
// start() it says that no pointer is ours.
//
// The program's threads find their Cache their own way (preload/process/thread.h); the heap only
// keeps the list. Without a cache, allocate() and release() work on the slabs directly. Layers
// below: cache, depot, magazine store, slab area, pool, memory, class table. Knows nothing of
// malloc's contract, the environment or processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sizeclass/base/memory_limit.h"
#include "sizeclass/base/statistics.h"
#include "sizeclass/heap/ageing.h"
#include "sizeclass/heap/caches.h"
#include "sizeclass/heap/heap_window.h"
#include "sizeclass/slabs/class_table.h"
#include "sizeclass/slabs/object_states.h"

namespace pktmalloc {

struct HeapConfig {
  // Addresses for objects, of which none is reserved; fewer where the processor has not as many.
  size_t most_bytes = size_t{1} << 40;
  size_t state_bytes = 0;  // of a word for each object's state (object_states.h); 0: no states
  bool zeroes = false;     // a class's slab is zero when it takes it
  // Bytes beside an object, for which the largest class has room, and each of the user's.
  size_t beside = 0;
  uint64_t shuffle_seed = 0;  // hand out the objects of a slab in random order; 0: in their order
  uint64_t interval_ms = Ageing::kDefaultIntervalMs;
  uint64_t limit = MemoryLimit::kNone;  // bytes, see MemoryLimit
  uint64_t soft_limit = MemoryLimit::kNone;
  HugePages huge_pages = HugePages::kAuto;
  // Bytes of the largest block. glibc maps what is larger, and it grows without a copy.
  size_t most_block = size_t{SlabPool::kMostBlock} << SlabPool::kUnitShift;
  const size_t* sizes = nullptr;  // the user's classes, ascending
  unsigned sizes_count = 0;       // 0: the default table
};

class Heap {
 public:
  // False when the system refuses memory or has no room for it: then nothing is pooled, and the
  // heap stays usable as such. Call once, before the process has a second thread and before any
  // other call but class_of().
  bool start(const HeapConfig& config);

  // Gives all memory back; for tests. No object or cache may be used afterwards.
  void stop();

  // The class that has the pointer's unit; kNoClass: it is not ours.
  ClassId class_of(const void* p) const { return spans(p) ? class_of_unit(p) : kNoClass; }
  // The two halves of it: does the pointer lie among units? Then, the class.
  bool spans(const void* p) const { return reinterpret_cast<uintptr_t>(p) - base_ < bytes_; }
  ClassId class_of_unit(const void* p) const {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(p) - base_;
    const auto* const map = reinterpret_cast<const SlabPool::Entry*>(base_);
    const uintptr_t owner = map[distance >> SlabPool::kUnitShift].owner;
    if (owner >= kMaxClasses) __builtin_unreachable();  // spares the fast path an extension
    return static_cast<ClassId>(owner);
  }
  bool owns(const void* p) const { return class_of(p) != kNoClass; }

  const ClassTable& classes() const { return classes_; }

  // Only if there are states. Of the object that begins at p, in a slab of class `id`; kNone if
  // that is kNoClass.
  ObjectStates::Entry state_of(ClassId id, const void* p) const {
    return states_.entry(id, reinterpret_cast<uintptr_t>(p));
  }
  // The word itself where they are larger; for kNoClass, of a block.
  template <typename Word>
  Word& state_word(ClassId id, const void* p) const {
    return states_.word<Word>(id, reinterpret_cast<uintptr_t>(p));
  }

  // Once started, for the checks: the start of the object of class `id`, or of the block
  // (kNoClass), that holds p; 0: none does.
  uintptr_t object_at(ClassId id, const void* p) const {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p);
    return id != kNoClass ? supply_->area(id).object_at(address) : pool_.block_of(address);
  }
  // Of the object or block that begins at p.
  size_t bytes_of(ClassId id, const void* p) const {
    return id != kNoClass ? classes_[id].object_bytes : block_bytes(p);
  }
  // Calls visit(id, start) for every object of slabs, free ones too, and with kNoClass for every
  // block. Takes no lock.
  template <typename Visit>
  void each_object(Visit visit) const {
    for (uint32_t unit = pool_.first_unit(); unit < pool_.fresh(); ++unit) {
      const SlabPool::Entry at = pool_.entry(unit);
      const ClassId id{at.owner};
      if (at.back != (id != kNoClass ? 0 : SlabPool::kBlockBegins)) continue;
      const uint32_t count = id != kNoClass ? classes_[id].objects_per_slab : 1;
      for (uint32_t i = 0; i < count; ++i) {
        visit(id, pool_.start_of(unit) + uintptr_t{i} * classes_[id].object_bytes);
      }
    }
  }

  // A cache for the calling thread; nullptr when there is no memory for one. If the thread ends
  // without detach(), another one gets its caches, provided it has said what it is (holder.h). A
  // second cache of a thread does not count as a thread.
  Cache* attach(void* thread = nullptr, bool counts = true);
  // Gives back the cache's contents; it no longer belongs to the thread.
  void detach(Cache* cache);

  // Calls tell(thread) for the threads that said what they are. None of them detaches meanwhile;
  // those that have ended are left out.
  template <typename Tell>
  void each_thread(Tell tell) {
    const Lock lock(caches_.mutex);
    for (Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
      void* const thread = cache->holder.thread();
      if (thread != nullptr && !inherit(*cache)) tell(thread);
    }
  }
  // Before allocate(): see Cache::trade().
  void trade(Cache& cache, ClassId id, Cache& second) { cache.trade(*supply_, id, second); }

  // For lean trips of a cache (lean_trip.h), with due().
  Depot& depot() { return depot_; }

  // Says whether every trip comes to allocate() and release().
  Due& due() { return due_; }

  // The slow paths. allocate: nullptr when memory is refused. `zero`: set to true if the object is
  // known to be zero; large ones then come from slabs one by one, rather than from a magazine that
  // forgets it.
  void* allocate(Cache* cache, ClassId id, bool* zero = nullptr);
  void release(Cache* cache, ClassId id, void* object);

  // A block, in whole units of the pool, for a request of more bytes than default classes serve and
  // at most most_block(); nullptr: it is none, or memory is refused. `zero` as above.
  size_t most_block() const { return most_block_; }
  void* allocate_block(Cache* cache, size_t bytes, bool* zero = nullptr);
  void release_block(Cache* cache, void* block);
  // In place, or not at all. To no bytes: gives it back; false: no block begins there.
  bool resize_block(Cache* cache, void* block, size_t bytes);
  // Of the block that begins at p, or that began there and was freed, if nobody has its first unit
  // again; 0: none.
  size_t block_bytes(const void* p, SlabPool::Mark mark = SlabPool::kBlockBegins) const {
    const auto units = spans(p) ? pool_.block_at(reinterpret_cast<uintptr_t>(p), mark) : 0;
    return size_t{units} << SlabPool::kUnitShift;
  }

  // At the end of the process, for the thread's caches: what was freed last goes to its slabs,
  // where wrong frees are found. Not where a signal handler ends it amid that.
  void end(Cache* cache, Cache* second);

  // Of a pointer that no class has: can it be nobody else's either? It lies among units, or where
  // the pool may grow.
  bool is_nobodys(const void* p) const;
  // The class that had its unit last, if no class has it; else kNoClass.
  ClassId former_class(const void* p) const {
    return pool_.former_class(reinterpret_cast<uintptr_t>(p));
  }
  // Reports it, and aborts.
  [[noreturn]] void refuse(const void* p) const;
  // Of an address outside of all slabs and blocks: the object or block that begins on the next
  // page, or else the one that ends on the page before, or before units that nobody has. 0: there
  // is neither, or the address lies in one, or is somebody else's.
  uintptr_t object_beside(uintptr_t address) const;

  // Has memory ready for so many objects of the class more than before, and for the magazines that
  // take them: using it for the first time faults no page, and it never goes back. On huge pages of
  // the system's pool as far as it has any, else all or none. Returns for how many objects.
  uint64_t populate(ClassId id, uint64_t objects, bool huge_pages = false);
  // How much memory that takes.
  uint64_t bytes_to_populate(ClassId id, uint64_t objects) const;

  // Gives back all free memory except what other threads hold. `second`: the calling thread's
  // second cache, if any. Returns the bytes purged.
  uint64_t trim(Cache* cache, Cache* second = nullptr);

  // Also stops counting what was purged against limits of data, and gives back addresses at the
  // top. For when the system refuses memory.
  void decommit(Cache* cache);

  // With so few addresses for the whole process, no more are taken for objects: half-filled slabs
  // of all classes take up to 12 MiB, which the next allocator need not lose.
  static constexpr size_t kFewAddresses = size_t{512} << 20;
  // The process may have so many bytes of addresses from now on.
  void limit_addresses(size_t limit);

  // Is memory of any class ready in advance?
  bool has_reserved() const {
    return std::ranges::any_of(areas_, [](const auto& area) { return area.promised != 0; });
  }

  // For a background thread, see Ageing.
  uint64_t age() { return started_ ? ageing_.run(*supply_) : 0; }
  uint64_t waiting_bytes() const { return started_ ? Ageing::waiting_in_all(*supply_) : 0; }
  Ageing& ageing() { return ageing_; }
  MemoryLimit& limit() { return limit_; }
  // Is a slab of the class, or a block of so many bytes, more than the limit leaves?
  bool is_at_limit(ClassId id, size_t bytes) const {
    if (!limit_.is_limited()) return false;
    return limit_.left() < (id != kNoClass ? supply_->area(id).slab_bytes() : bytes);
  }

  // Around fork: takes all locks in rank order and stops exchange through the depots. Other threads
  // may go on inside their own magazines.
  void lock_all() AROUND_FORK;
  void unlock_all() AROUND_FORK;
  // In the child, with its thread's caches: other threads are gone. The contents of their magazines
  // stay counted as cached in threads and are not reused: they may have been changing at the moment
  // of the fork.
  void forget_other_threads(Cache* mine, Cache* second = nullptr) NOT_FOLLOWED;

  // Somebody else serves an object of the class, a sample of the heap profile, say: the statistics
  // count it as the class's, its memory too. A new one was handed out just now.
  void count_outside(ClassId id, bool is_new) {
    outside_[index(id)].fetch_add(1, std::memory_order_relaxed);
    if (is_new) direct_allocs_[index(id)].fetch_add(1, std::memory_order_relaxed);
  }
  void uncount_outside(ClassId id) { outside_[index(id)].fetch_sub(1, std::memory_order_relaxed); }

  // Counts an event (Cache::tally) of a thread, whether or not it has a cache.
  void tally(Cache* cache, unsigned what) {
    if (cache != nullptr) return cache->tally(what);
    tallies_[what].fetch_add(1, std::memory_order_relaxed);
  }
  // By event: of threads without one. Before start(), too.
  const std::atomic<uint64_t>* tallies() const { return tallies_; }

  void statistics(HeapStatistics& out);  // heap_statistics.cpp has it and what follows
  // Can every lock be had soon, for statistics in a signal handler? Else this thread may hold one.
  bool can_lock() AROUND_FORK;
  // The same for a reader outside the process. Call after start().
  HeapWindow window();
  // Bytes of units in memory, or of those alone that classes have or had last, as the system
  // reports, and of what is outside; walks over all pages.
  uint64_t resident_bytes(bool with_blocks = true);
  // Of what is outside.
  uint64_t outside_bytes() const;
  // Of slabs that are open, touched or not; those of magazines too.
  uint64_t open_bytes() const { return pool_.counts().open + magazine_pool_.counts().open; }
  // Has any thread that runs still a cache? The caches of those that ended wait for others then.
  bool has_threads();
  uint64_t threads_alive() const { return threads_alive_.load(std::memory_order_relaxed); }
  uintptr_t base() const { return base_; }
  const Owned<uintptr_t>& bytes() const { return bytes_; }  // from base() on
  // Of addresses that it has mapped.
  size_t mapped_bytes();
  bool started() const { return started_; }

 private:
  // Of the magazines that are populated.
  uint8_t magazine_size(ClassId id) const { return size_for_rounds(classes_[id].largest_rounds); }
  uint64_t magazines_for(ClassId id, uint64_t objects) const;
  bool find_room(const HeapConfig& config, size_t bytes);
  static uint32_t units_for(size_t bytes) {
    return static_cast<uint32_t>((bytes + (1U << SlabPool::kUnitShift) - 1) >>
                                 SlabPool::kUnitShift);
  }
  void come_by(Cache& cache, ClassId id, Ageing::Visit why);
  void uncount(Cache& cache) UNDER(caches_.mutex);
  bool inherit(Cache& cache) UNDER(caches_.mutex);
  static constexpr unsigned kLocks = 5 + kMaxClasses + kMagazineSizes;
  std::span<Mutex*> locks(Mutex* (&all)[kLocks]);

  // No pointer is ours until start(). Plain and read without order, like the class table: acquire
  // loads would cost free an instruction. Thread creation orders it, because start() comes first
  // (docs/concurrency.md, after the atomics).
  alignas(64) uintptr_t base_ = 0;  // = pool_.base()
  Owned<uintptr_t> bytes_ = 0;      // = pool_.bytes()
  Due due_;                         // in the same line, for trips, as the smallest sizes' classes
  ClassTable classes_;
  bool started_ = false;
  Owned<uintptr_t> magazine_bytes_ = 0;
  SlabPool pool_, magazine_pool_;
  MemoryLimit limit_;
  Ageing ageing_;
  alignas(64) std::optional<Supply> supply_;  // a line that nobody writes, from start() on

  Caches caches_;
  uint64_t shuffle_seed_ = 0;
  size_t most_block_ = 0;
  uint64_t threads_seen_ GUARDED_BY(caches_.mutex) = 0;
  std::atomic<uint64_t> threads_alive_ = 0;
  // Of what follows only the beginning is touched at start.
  MagazineStore store_;
  ObjectStates states_;
  SlabArea::State areas_[kMaxClasses];                  // by class
  std::atomic<uint64_t> direct_allocs_[kMaxClasses]{};  // objects that came from no cache
  std::atomic<uint64_t> outside_[kMaxClasses]{};        // live ones that others serve
  std::atomic<uint64_t> tallies_[kTallies]{};

  Depot depot_;
};

}  // namespace pktmalloc
