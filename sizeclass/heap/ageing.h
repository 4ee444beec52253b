// SPDX-License-Identifier: MIT
// Ageing: returns memory to the system when nobody has needed it for a while.
//
// Time is cut into ticks, each a quarter of the ageing interval; growth adds more ticks for depots
// (Growth). At the end of each tick the low-water marks say what nobody needed for a whole
// interval: that many magazines of each depot are drained into their slabs, slabs with so many free
// objects are thinned (slab_area.h), and that many empty units of the pool are purged.
// Waiting pays: a program that frees a million packets and takes them again 10 ms later must not
// fault their pages in again.
// A thread drives it when it comes by after a trip to depot or slabs (visit); so do the background
// thread, if there is one (run), and malloc_trim (trim). Work takes at most a fortieth of a
// thread's time, and 50 us and a step of a single call, so it hardly disturbs anybody; after a
// tick by growth, 0.2 or 0.5 ms and a step. Once a tick visits also drain magazines of classes that
// the thread no longer uses, or that ended threads have left, one class each.
//
// A program that stays within its loaded magazines makes no trips, and a few objects in them can
// keep many slabs from becoming empty. So while more than kWatchedBytes wait, watching starts when
// a thread hands objects to the depot or slabs: each of its allocations, but not its releases, then
// takes the slow path, which looks at the processor's clock, and each 64th, or once the time has
// come, comes by. The frees after a peak cost nothing more, and the first allocation after them is
// seen. For programs that do both all the time, tokens bound the cost: a look costs 64, and
// they grow with time so that they are worth 0.2 % of it. A thread that made kHoverCalls
// watched calls is hovering and stays watched until all is done, for ten intervals at most.
//
// One worker at a time, under mutex; everything else is atomic or belongs to the calling thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sizeclass/base/memory_limit.h"
#include "sizeclass/heap/caches.h"
#include "sizeclass/heap/due.h"

namespace pktmalloc {

// Growth: when free objects in some classes should make room for others.
//
// By time alone, free objects wait an interval in their depots (below); a program that fills one
// class after another then needs the sum of their peaks. So taking slabs ages depots, too: a tick
// ends when the slabs that classes took amount to a 256th of what waits. What nobody needed for
// some ticks goes to its slabs, and whole slabs to the pool, where any class finds them. That takes
// no call of the system, and 7 ns an object.
class Growth {
 public:
  // Is a tick over when classes have taken so many bytes since start, and so many wait in depots?
  // Any thread.
  bool due(uint64_t taken, uint64_t waiting) const {
    const uint64_t least = waiting < kLittle ? kLittle : kTickLeast;
    const auto since = static_cast<int64_t>(taken - ticked_.load(std::memory_order_relaxed));
    return since >=
           static_cast<int64_t>(std::max(least, waiting / 256));  // a tick may have overtaken
  }
  // Begins the next tick. `used`: bytes that the pool has ever used. Are many of them new since
  // tick() last said so? One thread at a time.
  bool tick(uint64_t taken, uint64_t used) {
    ticked_.store(taken, std::memory_order_relaxed);
    if (used - used_ < kNewLeast) return false;
    used_ = used;
    return true;
  }

 private:
  static constexpr uint64_t kTickLeast = uint64_t{256} << 10;
  // Where less waits a look is most likely in vain.
  static constexpr uint64_t kLittle = uint64_t{1} << 20;
  static constexpr uint64_t kNewLeast = uint64_t{2} << 20;

  std::atomic<uint64_t> ticked_ = 0;  // bytes taken when the tick began
  uint64_t used_ = 0;
};

class Ageing {
 public:
  static constexpr uint64_t kDefaultIntervalMs = 1000;

  // Above the soft limit nothing waits.
  void start(uint64_t interval_ms, const MemoryLimit& limit, Due& due);

  // What brings a thread here.
  enum class Visit : uint8_t {
    kTake,     // a trip to depot, slabs or pool for objects
    kGive,     // a trip there with objects
    kWatched,  // an allocation while watched
  };

  // Has a thread any reason to come by after a trip for the class? Else all that it did was to
  // exchange a magazine.
  bool is_due(const Supply& supply, Cache& cache, ClassId id, Visit why) const;

  // Called at the end of a slow path by the cache's own thread, on behalf of class `id`.
  void visit(const Supply& supply, Cache& cache, ClassId id, Visit why);

  // For a background thread: does all due work, without bound. Returns the bytes that still wait.
  uint64_t run(const Supply& supply);

  // Gives back everything in depots and empty slabs now. Returns the bytes purged.
  uint64_t trim(const Supply& supply) NOT_FOLLOWED;

  // There is work for the background thread, and nobody may come by: a thread that ends has freed
  // memory.
  void notice() {
    if (const auto wake = wake_.load(std::memory_order_relaxed)) wake();
  }

  // Bytes in depots, but for what would stay in its slabs, and in empty units.
  static uint64_t waiting_in_all(const Supply& supply) {
    return waiting_in_depots(supply) + waiting_in_pools(supply);
  }

  // While set, threads do only the work that growth demands; they call `wake` once a tick, and at
  // each trip while more than kWatchedBytes wait. It must be cheap and must not allocate or lock.
  // nullptr turns it off.
  void use_background(void (*wake)()) {
    wake_.store(wake, std::memory_order_relaxed);
    if (due_ != nullptr) due_->tell_at(0);
  }

  uint64_t tick_ms() const { return tick_ms_; }
  uint64_t waiting_bytes() const { return waiting_.load(std::memory_order_relaxed); }
  const std::atomic<uint64_t>& waiting_count() const { return waiting_; }

  // Objects of the class moved from the depot to slabs since start; guarded by mutex.
  uint64_t aged(ClassId id) const UNDER(mutex) { return aged_[index(id)]; }
  const uint64_t* aged_counts() const { return aged_; }  // by class
  Mutex mutex;

 private:
  // What ages: depots by class, empty magazines by size, the two pools' units, and free objects of
  // partly used slabs by class.
  static constexpr unsigned kFirstSize = kMaxClasses;
  static constexpr unsigned kFirstPool = kFirstSize + kMagazineSizes;
  static constexpr unsigned kFirstArea = kFirstPool + 2;
  static constexpr unsigned kLines = kFirstArea + kMaxClasses;

  void tell_due(uint64_t now);
  // Less is not worth slowing anybody down.
  static constexpr uint64_t kWatchedBytes = uint64_t{1} << 20;
  bool much_waits() const { return waiting_bytes() >= kWatchedBytes; }
  // Also where the clock went back, as in a child that has another time name space: no tick ends so
  // far ahead. A thread that was held up has an old clock.
  bool due(uint64_t now) const {
    return due_ms_.load(std::memory_order_relaxed) - now - 1 >= 64 * tick_ms_;
  }
  enum class Tick : uint8_t { kTime, kGrowth, kNewMemory, kTrim };
  void collect(const Supply& supply, Tick why) UNDER(mutex);
  uint64_t give_all_back(const Supply& supply) UNDER(mutex);
  void end_tick(const Supply& supply, uint64_t now) UNDER(mutex);
  bool growth_due(const Supply& supply, ClassId id) const;
  uint64_t end_growth_tick(const Supply& supply) UNDER(mutex);
  void end_ticks(const Supply& supply, uint64_t now) UNDER(mutex);
  void work(const Supply& supply, uint64_t until_us, bool splits = false) UNDER(mutex);
  bool step(const Supply& supply, unsigned line, bool splits) UNDER(mutex);
  bool drain_one(const Supply& supply, ClassId id) UNDER(mutex);
  static uint64_t waiting_in_depots(const Supply& supply);
  static uint64_t waiting_in_pools(const Supply& supply);
  static uint64_t waiting_at(const Supply& supply, ClassId id, unsigned home);
  bool should_watch(Cache& cache, Visit why) const;

  Due* due_ = nullptr;
  Owned<uint64_t> first_ms_ = 0, first_ticks_ = 0;  // of both clocks, at start()
  const MemoryLimit* limit_ = nullptr;
  uint64_t tick_ms_ = 0;
  std::atomic<uint64_t> due_ms_ = 0;
  std::atomic<bool> pending_ = false;  // some line has something to do
  std::atomic<uint64_t> waiting_ = 0;  // waiting_in_all() at the end of a tick, raised by trips
  std::atomic<uint64_t> stacked_ = 0;  // the depots' part of it, not raised
  std::atomic<void (*)()> wake_ = nullptr;
  Growth growth_;
  // Magazines to drain, objects whose slabs are to be thinned, units to purge.
  uint32_t to_do_[kLines] GUARDED_BY(mutex){};
  unsigned cursor_ GUARDED_BY(mutex) = 0;  // the line being worked on
  uint64_t aged_[kMaxClasses] GUARDED_BY(mutex){};
};

}  // namespace pktmalloc
