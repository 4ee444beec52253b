// SPDX-License-Identifier: MIT
#include "sizeclass/ageing.h"

#include <algorithm>

#include "sizeclass/clock.h"
#include "sizeclass/memory.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kWatchedBytes = uint64_t{1} << 20;  // less is not worth slowing anybody down
constexpr uint32_t kHoverCalls = 4096;                 // 16 magazines' worth without a trip
// Time for everything to age: one interval in the depot, one as empty slabs, and some to spare.
constexpr uint32_t kHoverIntervals = 3;
// A thread that trips now and then would hover anew each time, even while all that waits belongs to
// others. So it hovers at most a quarter of the time.
constexpr uint32_t kHoverPause = 4 * kHoverIntervals * LowWater::kTicks;
// A watched call costs about 70 ns more where threads outnumber processors (docs/decisions.md): 1 %
// of a millisecond pays for 150. Saved up for 0.8 s.
constexpr Budget::Income kTokens{.per_ms = 150, .most = 120'000};
constexpr uint32_t kIdleTicks = LowWater::kTicks;  // a thread keeps an unused class this long
constexpr size_t kPurgeBytes = size_t{4} << 20;    // in one system call: about 0.3 ms

// A visit may work for a fortieth of the time since the last: 25 us per ms, at most 4 ms.
constexpr uint64_t work_us(uint64_t elapsed_ms) { return std::min<uint64_t>(elapsed_ms, 160) * 25; }

// After a tick by growth; its page faults took about as long.
constexpr uint64_t kGrowthWorkUs = 200;

constexpr bool is_class(unsigned line) { return line < kMaxClasses; }

}  // namespace

void Ageing::start(uint64_t interval_ms, const MemoryLimit& limit) {
  limit_ = &limit;
  tick_ms_ = std::max<uint64_t>(interval_ms / LowWater::kTicks, 1);
  due_ms_.store(clock_ms() + tick_ms_, std::memory_order_relaxed);
  growth_.start(interval_ms);
}

SlabArea& Ageing::area(const Supply& supply, unsigned line) {
  return is_class(line) ? supply.areas[line] : supply.store.area(line - kMaxClasses);
}

// Objects in the stacked magazines, at most.
uint32_t Ageing::rounds_in(const Supply& supply, unsigned line) {
  return is_class(line) ? area(supply, line).size_class().largest_rounds : 1;
}

// Bytes in this many magazines and in the empty slabs.
uint64_t Ageing::waiting_with(const Supply& supply, unsigned line, uint64_t stacked) {
  const SlabArea& slabs = area(supply, line);
  return stacked * rounds_in(supply, line) * slabs.size_class().object_bytes +
         slabs.empty_slabs() * slabs.slab_bytes();
}

uint64_t Ageing::waiting_in(const Supply& supply, unsigned line) {
  return waiting_with(supply, line,
                      is_class(line) ? supply.depot.depth(static_cast<ClassId>(line))
                                     : supply.store.empties(line - kMaxClasses));
}

// How much waits in a class, as far as a thread that just made a trip can tell: it has this number
// at hand, while those of other homes lie with other processors.
uint64_t Ageing::waiting_at(const Supply& supply, ClassId id, unsigned home) {
  return waiting_with(supply, index(id), supply.depot.depth(id, home));
}

uint64_t Ageing::waiting_in_all(const Supply& supply) {
  uint64_t waiting = 0;
  for (unsigned i = 0; i < kLines; ++i) waiting += waiting_in(supply, i);
  return waiting;
}

// Objects that the program has, including those in magazines of threads, or the memory that it
// populated for them.
uint64_t Ageing::held_in_all(const Supply& supply) {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < supply.classes.count(); ++i) {
    const AreaStatistics area = supply.areas[i].statistics();
    const uint64_t out = area.filled - area.drained;
    const uint64_t stacked =
        uint64_t{supply.depot.depth(static_cast<ClassId>(i))} * rounds_in(supply, i);
    bytes += std::max((out - std::min(out, stacked)) * supply.areas[i].size_class().object_bytes,
                      area.populated_slabs * supply.areas[i].slab_bytes());
  }
  return bytes;
}

// Marks what nobody needed lately to go. Returns how many more objects than before will leave their
// depots.
uint64_t Ageing::collect(const Supply& supply) {
  bool pending = false;
  uint64_t objects = 0;
  for (unsigned i = 0; i < kLines; ++i) {
    if (is_class(i) && i >= supply.classes.count()) continue;
    Line& line = lines_[i];
    const uint32_t idle = is_class(i) ? supply.depot.tick(static_cast<ClassId>(i))
                                      : supply.store.tick(i - kMaxClasses);
    objects += uint64_t{idle - std::min(idle, line.to_drain)} * rounds_in(supply, i);
    line.to_drain = idle;
    line.to_purge = area(supply, i).tick();
    pending |= line.to_drain != 0 || line.to_purge != 0;
  }
  waiting_.store(waiting_in_all(supply), std::memory_order_relaxed);
  pending_.store(pending, std::memory_order_relaxed);
  tick_.fetch_add(1, std::memory_order_relaxed);
  return objects;
}

void Ageing::end_tick(const Supply& supply, uint64_t now) {
  collect(supply);
  due_ms_.store(now + tick_ms_, std::memory_order_relaxed);
  if (tick_hook_ != nullptr) tick_hook_();
}

// False: it had no effect. The hook may take long, and threads of a process with a background
// thread do not expect that.
bool Ageing::end_growth_tick(const Supply& supply, uint64_t now, bool with_hook) {
  if (!growth_.tick(now, held_in_all(supply))) return false;
  growth_.spend_objects(collect(supply));
  if (with_hook && tick_hook_ != nullptr) {
    const uint64_t start = clock_us();
    tick_hook_();
    growth_.spend_us(clock_us() - start);
  }
  return true;
}

// A program that seldom comes by has missed ticks: the time has passed all the same.
void Ageing::end_ticks(const Supply& supply, uint64_t now) {
  const uint64_t at = due_ms_.load(std::memory_order_relaxed);
  if (now < at) return;
  const uint64_t missed = std::min<uint64_t>((now - at) / tick_ms_, LowWater::kTicks - 1);
  for (uint64_t n = 0; n <= missed; ++n) end_tick(supply, now);
}

bool Ageing::drain_one(const Supply& supply, unsigned line) {
  if (!is_class(line)) return supply.store.drain_one(line - kMaxClasses);
  Magazine* magazine = supply.depot.take_idle(static_cast<ClassId>(line));
  if (magazine == nullptr) return false;
  supply.areas[line].drain(magazine->objects(), magazine->rounds);
  aged_[line] += magazine->rounds;
  magazine->rounds = 0;
  supply.store.retire(magazine);
  return true;
}

// One bounded piece of work in a line; false when the line has nothing left to do.
bool Ageing::step(const Supply& supply, unsigned index) {
  Line& line = lines_[index];
  if (line.to_drain > 0) {
    line.to_drain = drain_one(supply, index) ? line.to_drain - 1 : 0;
    return true;
  }
  if (line.to_purge > 0) {
    SlabArea& slabs = area(supply, index);
    const auto run = std::max<uint32_t>(1, static_cast<uint32_t>(kPurgeBytes / slabs.slab_bytes()));
    const uint32_t tried = slabs.purge_some(std::min(line.to_purge, run));
    line.to_purge = tried > 0 ? line.to_purge - tried : 0;
    return true;
  }
  return false;
}

void Ageing::work(const Supply& supply, uint64_t until_us) {
  for (unsigned idle = 0; idle < kLines; ++idle) {
    while (step(supply, cursor_)) {
      idle = 0;
      if (clock_us() >= until_us) return;
    }
    cursor_ = (cursor_ + 1) % kLines;
  }
  pending_.store(false, std::memory_order_relaxed);
}

void Ageing::visit(const Supply& supply, Cache& cache, ClassId id, Visit why) {
  Cache::Visits& visits = cache.visits;
  if (memory::in_strict_mode) {
    visits.watched = false;
    return;
  }
  const uint64_t now = clock_ms();
  // A passing thread looks at the clock, which moves every few ms, before it looks at shared data.
  if (why == Visit::kPassing && now == visits.last_ms) return;
  const uint64_t elapsed = now - visits.last_ms;
  visits.last_ms = now;
  visits.tokens.earn(kTokens, elapsed);
  if (why == Visit::kGive && waiting_.load(std::memory_order_relaxed) < kWatchedBytes) {
    const uint64_t waiting = waiting_at(supply, id, cache.home);
    if (waiting > waiting_.load(std::memory_order_relaxed)) {
      waiting_.store(waiting, std::memory_order_relaxed);
    }
  }
  if (why != Visit::kPassing && limit_->is_tight() &&
      waiting_.load(std::memory_order_relaxed) >= kWatchedBytes && mutex_.try_lock()) {
    give_all_back(supply);
    mutex_.unlock();
  }
  const auto wake = wake_.load(std::memory_order_relaxed);
  if (wake != nullptr) {
    // An idle process may make no further trip: what waits now is reason enough.
    if (due(now)) {
      due_ms_.store(now + tick_ms_, std::memory_order_relaxed);
      wake();
    } else if (waiting_.load(std::memory_order_relaxed) >= kWatchedBytes) {
      wake();
    }
  }
  const bool grown = why == Visit::kTake && growth_.due(waiting_.load(std::memory_order_relaxed));
  const bool mine = wake == nullptr && (due(now) || pending_.load(std::memory_order_relaxed));
  if ((grown || mine) && mutex_.try_lock()) {
    const bool made_room = grown && end_growth_tick(supply, now, wake == nullptr);
    if (wake == nullptr) end_ticks(supply, now);
    if ((mine || made_room) && pending_.load(std::memory_order_relaxed)) {
      const uint64_t us = mine ? work_us(elapsed) : 0;
      work(supply, clock_us() + std::max(us, made_room ? kGrowthWorkUs : 0));
    }
    mutex_.unlock();
  }
  const uint32_t tick = tick_.load(std::memory_order_relaxed);
  if (visits.tick != tick) {
    visits.tick = tick;
    cache.flush_idle(supply, tick - kIdleTicks, id);
  }
  if (why != Visit::kPassing) visits.watched = should_watch(visits, why);
}

bool Ageing::should_watch(Cache::Visits& visits, Visit why) const {
  if (why != Visit::kWatched) {
    visits.calls = 0;
  }
  if (why == Visit::kTake && !visits.watched) return false;
  if (waiting_.load(std::memory_order_relaxed) < kWatchedBytes) return false;
  if (why == Visit::kGive) return visits.tokens.any();
  // Counted in ticks, which come late on a loaded machine, not in time.
  if (++visits.calls == kHoverCalls && visits.tick - visits.hover_since >= kHoverPause) {
    visits.hover_since = visits.tick;
  }
  if (visits.calls >= kHoverCalls &&
      visits.tick - visits.hover_since < kHoverIntervals * LowWater::kTicks) {
    return true;
  }
  visits.tokens.spend(1);
  return visits.tokens.any();
}

uint64_t Ageing::run(const Supply& supply) {
  {
    const Lock lock(mutex_);
    end_tick(supply, clock_ms());
  }
  while (pending_.load(std::memory_order_relaxed)) {
    const Lock lock(mutex_);  // for a millisecond: a fork waits for it
    work(supply, clock_us() + 1000);
  }
  const uint64_t waiting = waiting_in_all(supply);
  waiting_.store(waiting, std::memory_order_relaxed);
  return waiting;
}

uint64_t Ageing::trim(const Supply& supply) {
  const Lock lock(mutex_);
  return give_all_back(supply);
}

uint64_t Ageing::give_all_back(const Supply& supply) {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < kLines; ++i) {
    // Only what is there now, not what others free meanwhile: that could go on for ever.
    SlabArea& slabs = area(supply, i);
    if (is_class(i)) {
      supply.depot.make_idle(static_cast<ClassId>(i));
    } else {
      supply.store.make_idle(i - kMaxClasses);
    }
    while (drain_one(supply, i)) {
    }
    slabs.forget_kept();
    const uint64_t before = slabs.statistics().purged_total_bytes;
    for (uint32_t left = slabs.empty_slabs(), tried = 1; left > 0 && tried > 0; left -= tried) {
      tried = slabs.purge_some(left, true);
    }
    bytes += slabs.statistics().purged_total_bytes - before;
    lines_[i] = Line{};
  }
  waiting_.store(0, std::memory_order_relaxed);
  pending_.store(false, std::memory_order_relaxed);
  return bytes;
}

}  // namespace pktmalloc
