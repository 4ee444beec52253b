// SPDX-License-Identifier: MIT
// Ageing: memory goes back when nobody needed it for a while.
//
// Time is cut into ticks, a quarter of the ageing interval, and growth into further ones
// (growth.h). At the end of each, the low-water marks tell what nobody needed during a whole
// interval: that many magazines of each depot are drained into their slabs, that many empty slabs
// are purged. Not at once: a program that frees a million packets and takes them again 10 ms later
// must not fault their pages in again.
//
// Who drives it: a thread that comes by after a trip to depot or slabs (visit), a background thread
// if there is one (run), malloc_trim (trim). A visit works no longer than a fortieth of the time
// since the thread's previous one, so heavy work is hardly disturbed and light work does it all;
// after a tick by growth, 0.2 ms and a step. Besides, once a tick, it drains the thread's own
// magazines of classes that it no longer uses.
//
// A program that hovers inside its loaded magazines makes no trips, and a few objects in them may
// keep many slabs from being empty. While more than kWatchedBytes wait, a thread that made a trip
// with objects to give is "watched": each of its allocations, not of its releases, takes the slow
// path and comes by. So the frees after a peak cost nothing more, and the first allocation of
// whatever follows them is seen. To bound the cost for programs that do both all the time, a
// watched call costs a token; tokens grow with time so that they are worth about 1 % of it. A
// thread that made kHoverCalls watched calls is hovering and stays watched until all is done, for
// three intervals at most.
//
// One worker at a time, under mutex(); everything else is atomic or the calling thread's own.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/cache.h"
#include "sizeclass/growth.h"

namespace pktmalloc {

class Ageing {
 public:
  static constexpr uint64_t kDefaultIntervalMs = 1000;

  constexpr Ageing() = default;

  void start(uint64_t interval_ms);

  // What brings a thread here.
  enum class Visit : uint8_t {
    kTake,     // a trip to depot or slabs for objects
    kGive,     // a trip to depot or slabs with objects
    kWatched,  // an allocation while watched
    kPassing,  // business elsewhere
  };

  // At the end of a slow path of the cache's own thread, on behalf of class `id`.
  void visit(const Supply& supply, Cache& cache, ClassId id, Visit why);

  // For a background thread: does all that is due, without bound. Returns the bytes that wait.
  uint64_t run(const Supply& supply);

  // Everything that is in depots and empty slabs goes back now. Returns the bytes purged.
  uint64_t trim(const Supply& supply);

  // Memory came free by a thread that will not come by again.
  void notice() {
    if (const auto wake = wake_.load(std::memory_order_relaxed)) wake();
  }

  // Bytes in depots, at most, and in empty slabs.
  static uint64_t waiting_in_all(const Supply& supply);

  // While set, threads do none of the work but what growth demands; they call `wake` once a tick,
  // and at each trip while more than kWatchedBytes wait, so it must be cheap. nullptr ends that.
  // `wake` must not allocate or lock.
  void use_background(void (*wake)()) { wake_.store(wake, std::memory_order_relaxed); }

  // Called at the end of every tick, under mutex(): for memory that ages elsewhere. Must not enter
  // the heap. Once, before the first visit.
  void on_tick(void (*hook)()) { tick_hook_ = hook; }

  // Ticks ended since start.
  uint32_t tick() const { return tick_.load(std::memory_order_relaxed); }
  uint64_t tick_ms() const { return tick_ms_; }
  uint64_t waiting_bytes() const { return waiting_.load(std::memory_order_relaxed); }
  const std::atomic<uint64_t>& waiting_count() const { return waiting_; }

  // Objects of the class that went from the depot to slabs since start; guarded by mutex().
  uint64_t aged(ClassId id) const { return aged_[index(id)]; }
  const uint64_t* aged_counts() const { return aged_; }  // by class
  Mutex& mutex() { return mutex_; }
  Growth& growth() { return growth_; }

 private:
  // Programs' classes, then magazine sizes.
  static constexpr unsigned kLines = kMaxClasses + kMagazineSizes;
  struct Line {
    uint32_t to_drain = 0;  // magazines
    uint32_t to_purge = 0;  // slabs
  };

  bool due(uint64_t now) const { return now >= due_ms_.load(std::memory_order_relaxed); }
  uint64_t collect(const Supply& supply);
  void end_tick(const Supply& supply, uint64_t now);
  bool end_growth_tick(const Supply& supply, uint64_t now, bool with_hook);
  void end_ticks(const Supply& supply, uint64_t now);
  void work(const Supply& supply, uint64_t until_us);
  bool step(const Supply& supply, unsigned line);
  bool drain_one(const Supply& supply, unsigned line);
  static SlabArea& area(const Supply& supply, unsigned line);
  static uint32_t rounds_in(const Supply& supply, unsigned line);
  static uint64_t waiting_with(const Supply& supply, unsigned line, uint64_t stacked);
  static uint64_t waiting_in(const Supply& supply, unsigned line);
  static uint64_t held_in_all(const Supply& supply);
  static uint64_t waiting_at(const Supply& supply, ClassId id, unsigned home);
  bool should_watch(Cache::Visits& visits, Visit why) const;

  Mutex mutex_{LockRank::kAgeing};
  uint64_t tick_ms_ = kDefaultIntervalMs / LowWater::kTicks;
  std::atomic<uint64_t> due_ms_ = 0;
  std::atomic<uint32_t> tick_ = 0;
  std::atomic<bool> pending_ = false;  // some line has something to do
  std::atomic<uint64_t> waiting_ = 0;  // waiting_in_all() at the end of a tick, raised by trips
  std::atomic<void (*)()> wake_ = nullptr;
  void (*tick_hook_)() = nullptr;
  Growth growth_;
  Line lines_[kLines];   // guarded by mutex_, as all below
  unsigned cursor_ = 0;  // the line that is worked on
  uint64_t aged_[kMaxClasses]{};
};

}  // namespace pktmalloc
