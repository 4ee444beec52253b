// SPDX-License-Identifier: MIT
#include "sizeclass/heap/ageing.h"

#include "sizeclass/base/clock.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kHoverCalls = 4096;  // 16 magazines' worth without a trip
constexpr uint32_t kLookCalls = 64;     // in between a watched call looks at the processor's clock
// Time for everything to age: one interval in the depot, one as empty slabs, and eight to drain and
// purge a GiB, in a fortieth of them.
constexpr uint32_t kHoverIntervals = 10;
// A thread that trips now and then would hover anew each time, even while all that waits belongs to
// others. So it hovers at most a quarter of the time.
constexpr uint32_t kHoverPause = 4 * kHoverIntervals * LowWater::kTicks;
// A watched call costs about 15 ns more: 150 are 0.2 % of a millisecond. Saved up for 0.8 s.
constexpr Budget::Income kTokens{.per_ms = 150, .most = 120'000};

// Microseconds of work: a fortieth of a thread's time, of which it saves up what five calls may do.
constexpr Budget::Income kWork{.per_ms = 25, .most = 250};
// In one call: little, and a step's length more, unless the thread makes few. 4 ms after a pause of
// 0.6 s.
constexpr uint64_t work_us(uint64_t pause_ms) {
  return std::clamp<uint64_t>(pause_ms * pause_ms * pause_ms / 54'000, 50, 4000);
}
// After a tick by growth, and one with 2 MiB of new memory; page faults took about as long.
constexpr uint64_t kGrowthWorkUs = 200, kNewMemoryWorkUs = 500;
constexpr uint64_t kNoEnd = ~uint64_t{0};  // work until then reads no clock

}  // namespace

void Ageing::start(uint64_t interval_ms, const MemoryLimit& limit, Due& due) {
  mutex.set_rank(LockRank::kAgeing);
  due_ = &due;
  limit_ = &limit;
  tick_ms_ = std::max<uint64_t>(interval_ms / LowWater::kTicks, 1);
  if (!machine::lets_read_ticks()) read_clock_by_call(), due_->tell_always();
  if (limit_->is_limited()) due_->tell_always();
  first_ms_ = clock_ms();
  if (!due_->is_always()) first_ticks_ = machine::ticks();
  due_ms_.store(first_ms_.seen() + tick_ms_, std::memory_order_relaxed);
}

// Says when a thread is to come by next: at the end of the tick; in a millisecond, where there is
// work or somebody to watch. Two looks at both clocks show how fast the ticks are; before that the
// slowest are assumed, and threads come by earlier.
void Ageing::tell_due(uint64_t now) {
  if (due_->is_always()) return;
  constexpr uint64_t kFewMs = 50, kSlowest = 20'000;
  const uint64_t ticks = machine::ticks();
  // The process moved to another machine, or the clock went back.
  if (ticks < first_ticks_.seen() || now < first_ms_.seen()) {
    first_ms_ = now;
    first_ticks_ = ticks;
  }
  const uint64_t passed = now - first_ms_.seen();
  const uint64_t per_ms = passed < kFewMs ? kSlowest : (ticks - first_ticks_.seen()) / passed;
  const uint64_t end = due_ms_.load(std::memory_order_relaxed);
  const bool soon = pending_.load(std::memory_order_relaxed) || much_waits();
  const uint64_t ms = due(now) ? 0 : soon ? 1 : end - now;
  due_->tell_at(ticks + ms * per_ms);
}

// How much waits, as far as a thread can tell that just made a trip for the class: it has this
// number at hand, while those of other homes lie with other processors.
uint64_t Ageing::waiting_at(const Supply& supply, ClassId id, unsigned home) {
  const uint64_t objects = supply.depot.objects(id, home);
  const uint64_t stay = std::min(objects, supply.area(id).promised());
  return (objects - stay) * supply.classes[id].object_bytes + supply.pools[0]->waiting_bytes();
}

uint64_t Ageing::waiting_in_depots(const Supply& supply) {
  uint64_t waiting = 0;
  for (const ClassId id : supply.classes.ids()) {
    if (!supply.area(id).may_shrink()) continue;
    waiting += supply.depot.objects(id) * supply.classes[id].object_bytes;
  }
  for (unsigned size = 0; size < kMagazineSizes; ++size) {
    waiting += supply.store.empties(size).depth() * bytes_of_size(size);
  }
  return waiting;
}

uint64_t Ageing::waiting_in_pools(const Supply& supply) {
  return supply.pools[0]->waiting_bytes() + supply.pools[1]->waiting_bytes();
}

// Marks what nobody needed lately to go.
void Ageing::collect(const Supply& supply, Tick why) {
  for (const ClassId id : supply.classes.ids()) {
    SlabArea area = supply.area(id);
    const bool ages = area.may_shrink();
    // By growth slabs go over as they are. Only where the pool takes ever more memory, those that
    // few objects hold are thinned as well, unless these come back, and with them whole slabs.
    const uint32_t unneeded = ages ? area.tick(why == Tick::kNewMemory) : 0;
    const uint32_t next = why == Tick::kTrim ? 0 : supply.classes[id].objects_per_slab;
    to_do_[kFirstArea + index(id)] = why == Tick::kGrowth ? 0 : unneeded - std::min(unneeded, next);
    to_do_[index(id)] = ages || !area.is_reserved() ? supply.depot.tick(id) : 0;
  }
  for (unsigned size = 0; size < kMagazineSizes; ++size) {
    to_do_[kFirstSize + size] = supply.store.empties(size).tick();
  }
  const bool purges = why == Tick::kTime || why == Tick::kTrim;
  for (unsigned line = kFirstPool; line < kFirstArea && purges; ++line) {
    to_do_[line] = supply.pools[line - kFirstPool]->tick(why == Tick::kTrim);
  }
  const bool pending = std::any_of(to_do_, to_do_ + kLines, [](uint32_t n) { return n != 0; });
  const uint64_t stacked = waiting_in_depots(supply);
  stacked_.store(stacked, std::memory_order_relaxed);
  waiting_.store(stacked + waiting_in_pools(supply), std::memory_order_relaxed);
  pending_.store(pending, std::memory_order_relaxed);
}

void Ageing::end_tick(const Supply& supply, uint64_t now) {
  collect(supply, Tick::kTime);
  due_->end_tick();
  due_ms_.store(now + tick_ms_, std::memory_order_relaxed);
}

// A reserved class pays for nobody's growth.
bool Ageing::growth_due(const Supply& supply, ClassId id) const {
  return !supply.area(id).is_reserved() &&
         growth_.due(supply.pools[0]->counts().taken, stacked_.load(std::memory_order_relaxed));
}

// Returns how long the work may take.
uint64_t Ageing::end_growth_tick(const Supply& supply) {
  const SlabPool::Counts& counts = supply.pools[0]->counts();
  const bool is_new = growth_.tick(counts.taken, counts.used);
  collect(supply, is_new ? Tick::kNewMemory : Tick::kGrowth);
  due_->end_tick();
  return is_new ? kNewMemoryWorkUs : kGrowthWorkUs;
}

// A program that seldom comes by has missed ticks: the time has passed all the same.
void Ageing::end_ticks(const Supply& supply, uint64_t now) {
  if (!due(now)) return;
  const uint64_t late = now - std::min(now, due_ms_.load(std::memory_order_relaxed));
  const uint64_t missed = std::min<uint64_t>(late / tick_ms_, LowWater::kTicks - 1);
  for (uint64_t n = 0; n <= missed; ++n) end_tick(supply, now);
}

bool Ageing::drain_one(const Supply& supply, ClassId id) {
  Magazine* const magazine = supply.depot.take_idle(id);
  if (magazine == nullptr) return false;
  aged_[index(id)] += magazine->rounds;
  supply.store.retire(supply.drain(id, magazine));
  return true;
}

// One bounded piece of work in a line; false when the line has nothing left to do.
bool Ageing::step(const Supply& supply, unsigned line, bool splits) {
  uint32_t& left = to_do_[line];
  if (left == 0) return false;
  const auto id = static_cast<ClassId>(line < kFirstSize ? line : line - kFirstArea);
  const uint32_t done = line < kFirstSize   ? drain_one(supply, id)
                        : line < kFirstPool ? supply.store.drain_one(line - kFirstSize)
                        : line < kFirstArea
                            ? supply.pools[line - kFirstPool]->purge_some(left, splits)
                            : supply.area(id).thin_one();
  left = done == 0 ? 0 : left - std::min(left, done);
  return true;
}

// `splits`: purges parts of huge pages, too.
void Ageing::work(const Supply& supply, uint64_t until_us, bool splits) {
  for (unsigned idle = 0; idle < kLines; ++idle) {
    while (step(supply, cursor_, splits)) {
      idle = 0;
      if (until_us != kNoEnd && clock_us() >= until_us) return;
    }
    cursor_ = (cursor_ + 1) % kLines;
  }
  pending_.store(false, std::memory_order_relaxed);
}

bool Ageing::is_due(const Supply& supply, Cache& cache, ClassId id, Visit why) const {
  // The coarse clock, too: the processor's may stand or go back when a process moves.
  if (cache.seen() != due_->word() || due_->is_time() || due(clock_ms())) return true;
  if (why == Visit::kWatched) {
    cache.visits.watched = should_watch(cache, why);
    return false;
  }
  if (why == Visit::kTake) return growth_due(supply, id);
  return !much_waits() && waiting_at(supply, id, cache.home) >= kWatchedBytes;
}

void Ageing::visit(const Supply& supply, Cache& cache, ClassId id, Visit why) {
  Cache::Visits& visits = cache.visits;
  visits.watched &= !memory::in_strict_mode;
  if (memory::in_strict_mode) return;
  const uint64_t now = clock_ms();
  const uint64_t elapsed = now - visits.last_ms;
  visits.last_ms = now;
  visits.tokens.earn(kTokens, elapsed);
  visits.work.earn(kWork, elapsed);
  if (why == Visit::kGive && !much_waits()) {
    const uint64_t waiting = waiting_at(supply, id, cache.home);
    if (waiting > waiting_bytes()) waiting_.store(waiting, std::memory_order_relaxed);
  }
  if (limit_->is_tight() && much_waits() && mutex.try_lock()) {
    give_all_back(supply);
    mutex.unlock();
  }
  const auto wake = wake_.load(std::memory_order_relaxed);
  // An idle process may make no further trip: what waits now is reason enough.
  if (wake != nullptr && (due(now) || much_waits())) {
    if (due(now)) due_ms_.store(now + tick_ms_, std::memory_order_relaxed);
    wake();
  }
  const bool grown = why == Visit::kTake && growth_due(supply, id);
  const auto works = [&] {
    return wake == nullptr && visits.work.any() && pending_.load(std::memory_order_relaxed);
  };
  if ((grown || works() || due(now)) && mutex.try_lock()) {
    uint64_t us = grown ? kGrowthWorkUs : 0;
    if (grown && growth_due(supply, id)) us = end_growth_tick(supply);
    end_ticks(supply, now);
    if (works()) us = std::max(us, work_us(std::min<uint64_t>(elapsed, 1000)));
    if (us > 0 && pending_.load(std::memory_order_relaxed)) {
      const uint64_t start = clock_us();
      work(supply, start + us);
      // Whoever was held up meanwhile did not work so long.
      if (!grown) visits.work.spend(static_cast<int64_t>(std::min(clock_us() - start, 2 * us)));
    }
    mutex.unlock();
  }
  const uint64_t word = due_->word();
  const auto tick = static_cast<uint32_t>(word);
  visits.sweeps |= visits.tick != tick;
  visits.tick = tick;
  if (visits.sweeps) {
    visits.sweeps = cache.flush_idle(supply, LowWater::kAllTicks, id) ||
                    (wake == nullptr && supply.caches.flush(supply, tick, LowWater::kAllTicks));
  }
  visits.watched = should_watch(cache, why);
  // Who has more to do goes on at its next call.
  cache.saw(visits.sweeps || works() ? Due::kNever : Due::seen_at(word));
  tell_due(now);
}

bool Ageing::should_watch(Cache& cache, Visit why) const {
  Cache::Visits& visits = cache.visits;
  if (why == Visit::kTake && !visits.watched) return false;
  if (!much_waits()) return false;
  visits.unlooked = why == Visit::kGive ? 0 : kLookCalls;
  if (why == Visit::kGive) return visits.tokens.any();
  cache.watched_calls += kLookCalls;
  // Counted in ticks, which come late on a loaded machine, not in time.
  if (cache.watched_calls == kHoverCalls && visits.tick - visits.hover_since >= kHoverPause) {
    visits.hover_since = visits.tick;
  }
  if (cache.watched_calls >= kHoverCalls &&
      visits.tick - visits.hover_since < kHoverIntervals * LowWater::kTicks) {
    return true;
  }
  visits.tokens.spend(kLookCalls);
  return visits.tokens.any();
}

uint64_t Ageing::run(const Supply& supply) {
  {
    const Lock lock(mutex);
    end_tick(supply, clock_ms());
    while (supply.caches.flush(supply, due_->tick(), LowWater::kAllTicks)) continue;
  }
  do {
    const Lock lock(mutex);  // for a millisecond: a fork waits for it
    work(supply, clock_us() + 1000);
    // Meanwhile no magazine goes, of which a stack may tell how much is in it.
    waiting_.store(waiting_in_all(supply), std::memory_order_relaxed);
  } while (pending_.load(std::memory_order_relaxed));
  return waiting_bytes();
}

uint64_t Ageing::trim(const Supply& supply) {
  // To wait, or to wake who waits, is death in strict mode.
  if (memory::in_strict_mode && !mutex.try_lock()) return 0;
  const Lock lock(mutex, !memory::in_strict_mode);
  const uint64_t bytes = give_all_back(supply);
  if (memory::in_strict_mode) mutex.unlock();
  return bytes;
}

// Only what is there now, not what others free meanwhile: that could go on for ever.
uint64_t Ageing::give_all_back(const Supply& supply) {
  const auto purged = [&] {
    return supply.pools[0]->counts().purged + supply.pools[1]->counts().purged;
  };
  const uint64_t before = purged();
  while (supply.caches.flush(supply)) continue;
  // The second time, what the first one brought to the pools.
  for (const bool splits : {false, true}) {
    for (unsigned n = 0; n < LowWater::kAllTicks; ++n) collect(supply, Tick::kTrim);
    cursor_ = 0;
    work(supply, kNoEnd, splits);
  }
  if (!memory::in_strict_mode) waiting_.store(0, std::memory_order_relaxed);
  return purged() - before;
}

}  // namespace pktmalloc
