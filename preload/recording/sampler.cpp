// SPDX-License-Identifier: MIT
#include "preload/recording/sampler.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {

// One thread's sample points. It has a mapping of its own, about a page, and begins as zeros.
struct Sampler {
  Cache::Marks marks;
  uint64_t seen[kMaxClasses];     // allocations of the class already accounted for
  double countdown[kMaxClasses];  // units to the next sample point; the first for what no class
                                  // serves
  uint64_t others;  // allocations that the cache does not count, and where the count begins
  uint64_t random;
  ClassId due;  // of the sample under way
  bool busy;    // taking a sample: its own allocations are none

  double next_distance();
};

namespace {

// Changes when sampling begins while the program runs, pauses or goes on.
constinit std::atomic<uint32_t> stage = 0;
constinit std::atomic<bool> paused = false;
constinit thread_local uint32_t stage_here = 0;  // to which this thread's countdowns belong

constexpr double kNever = 1e18;  // units

double rate = 0;
bool by_bytes = true;
SampleHandler handler;

void free_sampler(Sampler* sampler) { munmap(sampler, sizeof *sampler); }

size_t object_bytes(ClassId id) { return heap.classes()[id].object_bytes; }

size_t units(size_t bytes) { return by_bytes ? bytes : 1; }
size_t units(ClassId id) { return units(object_bytes(id)); }

// Brings the class's countdown up to date with what the cache has handed out.
void account(Sampler& sampler, ClassId id) {
  const uint64_t allocated = this_thread.cache->allocated(id);
  uint64_t& seen = sampler.seen[index(id)];
  sampler.countdown[index(id)] -= static_cast<double>((allocated - seen) * units(id));
  seen = allocated;
}

// Countdowns have no memory, so new ones are as good.
void begin_stage(Sampler& sampler) {
  for (double& units_left : sampler.countdown) units_left = sampler.next_distance();
  for (const ClassId id : heap.classes().ids()) {
    this_thread.cache->unmark(id);
    // What it already holds is the main thread's from before.
    sampler.seen[index(id)] = this_thread.cache->allocated(id);
    sample_mark(id, true);
  }
}

EVERY_PROCESS void attach() {
  if (!sampling) return;
  stage_here = stage.load(std::memory_order_relaxed);
  auto* const sampler = static_cast<Sampler*>(map_lazily(sizeof(Sampler)));
  if (sampler == nullptr) return;
  sampler->random = next_number(reinterpret_cast<uint64_t>(sampler) ^ clock_us());
  sampler->others = next_number(sampler->random);
  if (by_bytes) {
    this_thread.release_cache = heap.attach(&this_thread, false);
    if (this_thread.release_cache == nullptr) return free_sampler(sampler);
  }
  this_thread.cache->marks = &sampler->marks;
  this_thread.sampler = sampler;
  begin_stage(*sampler);
}

void detach() {
  Cache* const second = std::exchange(this_thread.release_cache, nullptr);
  if (second != nullptr) heap.detach(second);
  Sampler* const sampler = std::exchange(this_thread.sampler, nullptr);
  if (sampler == nullptr) return;
  Cache& cache = *this_thread.cache;
  for (const ClassId id : heap.classes().ids()) cache.unmark(id);
  cache.marks = nullptr;
  free_sampler(sampler);
}

void enter_stage(uint32_t now) {
  if (this_thread.cache == nullptr) return;
  stage_here = now;
  if (this_thread.sampler == nullptr) return attach();  // once a stage, should memory be refused
  begin_stage(*this_thread.sampler);
}

}  // namespace

// q(x) = 1 - exp(-x) without libm: its series for small x, and q(2x) = q(x) (2 - q(x)).
double sample_probability(size_t bytes) {
  double x = static_cast<double>(std::max<size_t>(bytes, 1)) / rate;
  if (rate <= 1 || x > 40) return 1;
  int halvings = 0;
  for (; x > 0.5; x /= 2) ++halvings;
  double q = 0;
  for (int n = 14; n > 0; --n) q = (1 - q) * x / n;
  for (; halvings > 0; --halvings) q *= 2 - q;
  return q;
}

// Exponentially distributed with mean `rate`: ln 2 for each zero in front of the first one among
// random bits, and, for y evenly distributed below a half, the series of -ln(1 - y).
double Sampler::next_distance() {
  if (paused.load(std::memory_order_relaxed)) return kNever;
  if (rate <= 1) return 0;  // every allocation, for certain
  constexpr double kLn2 = 0.693147180559945309;
  random = next_number(random);
  const int zeros = std::countl_zero(random);
  random = next_number(random);
  const double y = static_cast<double>(random >> 11) * 0x1p-54;
  double sum = 0;
  for (int n = 30; n > 0; --n) sum = sum * y + 1.0 / n;
  return rate * (zeros * kLn2 + y * sum);
}

void sample(uint64_t mean, SampleUnit unit, SampleHandler taken) {
  rate = static_cast<double>(mean);
  by_bytes = unit == SampleUnit::kByte;
  handler = taken;
  stage.fetch_add(1, std::memory_order_relaxed);
  heap.due().tell_always();
  sampling.store(true, std::memory_order_release);
  if (this_thread.cache == nullptr) return;
  attach();
  publish(this_thread.cache);
}

bool pause_sampling(bool pause) {
  if (paused.exchange(pause, std::memory_order_relaxed) == pause) return false;
  stage.fetch_add(1, std::memory_order_release);
  return true;
}

bool sample_due(ClassId id, size_t bytes) {
  const uint32_t now = stage.load(std::memory_order_acquire);
  if (stage_here != now) [[unlikely]]
    enter_stage(now);
  Sampler* const sampler = this_thread.sampler;
  if (sampler == nullptr) return false;
  double& countdown = sampler->countdown[index(id)];
  if (id != kNoClass) {
    this_thread.cache->unmark(id);
    bytes = object_bytes(id);
    account(*sampler, id);
  }
  const auto weight = static_cast<double>(units(bytes));
  if (countdown > weight) {
    if (id == kNoClass) {
      countdown -= weight;  // the cache counts the others
      ++sampler->others;
    } else if (by_bytes) {
      heap.trade(*this_thread.cache, id, *this_thread.release_cache);
    }
    return false;
  }
  // Where the point lies in the object does not affect the next one: the process has no memory.
  countdown = sampler->next_distance();
  sampler->due = id;
  if (sampler->busy) return false;
  ++sampler->others;
  return true;
}

void sample_mark(ClassId id, bool served) {
  Sampler* const sampler = this_thread.sampler;
  if (sampler == nullptr || id == kNoClass) return;
  if (!served) sampler->countdown[index(id)] -= static_cast<double>(units(id));
  account(*sampler, id);
  const double objects = sampler->countdown[index(id)] / static_cast<double>(units(id));
  this_thread.cache->mark_after(id, static_cast<uint64_t>(std::max(objects, 0.0)));
}

void sample_taken(void* p, size_t bytes, Site site) {
  Sampler& sampler = *this_thread.sampler;
  const ClassId id = sampler.due;
  sampler.busy = true;
  handler(p, {bytes, id == kNoClass ? bytes : object_bytes(id), 0, 0, id, false}, site);
  sampler.busy = false;
}

uint64_t thread_allocations() {
  const Sampler* const sampler = this_thread.sampler;
  if (sampler == nullptr) return 0;
  uint64_t count = sampler->others;
  if (rate <= 1) return count;  // the cache serves none
  for (const ClassId id : heap.classes().ids()) count += this_thread.cache->allocated(id);
  return count;
}

constinit const Part sampler_part{.thread_start = attach, .thread_exit = detach};

}  // namespace pktmalloc
