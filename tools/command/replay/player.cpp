// SPDX-License-Identifier: MIT
#include "tools/command/replay/player.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "sizeclass/base/machine.h"
#include "tools/command/failure.h"
#include "tools/command/replay/calls.h"
#include "tools/command/replay/latency.h"
#include "tools/command/replay/plan.h"
#include "tools/command/replay/preloaded.h"
#include "tools/command/replay/resident.h"
#include "tools/command/replay/ticks.h"

namespace pktmalloc {
namespace {

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

template <typename T>
T* lay_out(size_t count) {
  const size_t bytes = std::max<size_t>(count, 1) * sizeof(T);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw Failure("no memory for the replay: {}", strerror(errno));
  return static_cast<T*>(memory);
}

struct Player;

struct Thread {
  Player* player;
  const Operation* operations;
  uint64_t count;
  std::atomic<bool> ended;
  uint64_t end_ns;
  uint64_t allocations, reallocations, releases, refused;
  Cycles* cycles;  // as kAllocations and so on
};
enum { kAllocations, kReallocations, kReleases, kKinds };

struct Player {
  PlanHeader* plan;
  Thread* threads;
  std::atomic<void*>* objects;  // release, when another thread may wait for it: acquire
  const uint32_t* waits;
  uint64_t start_ns, start_cycles_overhead;
};

// What takes the place of a call that found no memory; nobody's object.
void* const kRefused = reinterpret_cast<void*>(1);

template <typename Condition>
void wait_for(Condition condition) {
  for (unsigned tries = 0; !condition(); ++tries) {
    if (tries < 100) {
      machine::pause();
    } else if (tries < 1000) {
      sched_yield();
    } else {
      usleep(50);  // the processors are for those that have something to do
    }
  }
}

void sleep_until(uint64_t ns) {
  constexpr uint64_t kWorthSleeping = 50'000;
  if (ns < now_ns() + kWorthSleeping) return;
  const timespec until{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

template <bool kTimed, typename Act>
void timed(const Thread& thread, Cycles* cycles, Act act) {
  if constexpr (kTimed) {
    const uint64_t start = ticks_before();
    act();
    const uint64_t taken = ticks_after() - start;
    cycles->record(taken - std::min(taken, thread.player->start_cycles_overhead));
  } else {
    act();
  }
}

template <typename Allocator, bool kTimed>
void* run(void* argument);

using Run = void* (*)(void*);

Run run_of(const PlanHeader& plan) {
  if (plan.nothing) return run<Nothing, false>;
  return plan.latencies ? run<Real, true> : run<Real, false>;
}

void start_thread(const Player& player, const Operation& o) {
  for (uint64_t i = 0; i < (o.bytes & 0xffffffff); ++i) {
    const Thread& other = player.threads[player.waits[(o.bytes >> 32) + i]];
    wait_for([&] { return other.ended.load(std::memory_order_acquire); });
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, size_t{256} << 10);
  pthread_t thread;
  const auto create = [&] {
    return pthread_create(&thread, &attributes, run_of(*player.plan), &player.threads[o.slot]);
  };
  int error = create();
  for (unsigned tries = 0; error == EAGAIN && tries < 1000; ++tries) {  // others end meanwhile
    usleep(1000);
    error = create();
  }
  if (error != 0) {
    fprintf(stderr, "pktmalloc: no thread for the replay: %s\n", strerror(error));
    _exit(2);
  }
}

// What has the object of `o` in it, once whoever else puts it there has.
void* object_of(const Player& player, const Operation& o) {
  const std::atomic<void*>& object = player.objects[o.slot];
  if (o.action == Action::kTakeOfOther || o.action == Action::kReleaseOfOther) {
    wait_for([&] { return object.load(std::memory_order_acquire) != nullptr; });
  }
  void* const p = object.load(std::memory_order_relaxed);
  if (p == nullptr) [[unlikely]]
    abort();  // played before its allocation: the plan is wrong
  return p;
}

template <typename Allocator, bool kTimed>
void* run(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  const Player& player = *thread.player;
  const bool real_time = player.plan->real_time;
  const bool touch = player.plan->touch;
  void* taken = nullptr;
  uint64_t taken_bytes = 0;
  for (uint64_t i = 0; i < thread.count; ++i) {
    const Operation& o = thread.operations[i];
    if (real_time) sleep_until(player.start_ns + o.time_ns);
    void* p = nullptr;
    const auto call = [&](int kind, auto act) { timed<kTimed>(thread, &thread.cycles[kind], act); };
    switch (o.action) {
      case Action::kStartThread:
        start_thread(player, o);
        continue;
      case Action::kRelease:
      case Action::kReleaseOfOther:
        p = object_of(player, o);
        ++thread.releases;
        if (p != kRefused) call(kReleases, [&] { Allocator::release(p); });
        continue;
      case Action::kTake:
      case Action::kTakeOfOther:
        taken = object_of(player, o);
        taken_bytes = o.bytes;
        continue;
      case Action::kReallocate:
        ++thread.reallocations;
        if (taken == kRefused) taken_bytes = 0;
        call(kReallocations,
             [&] { p = Allocator::reallocate(taken == kRefused ? nullptr : taken, o.bytes); });
        break;
      case Action::kAllocateZeroed:
        ++thread.allocations;
        call(kAllocations, [&] { p = Allocator::allocate_zeroed(o.bytes); });
        break;
      case Action::kAllocate:
        ++thread.allocations;
        call(kAllocations, [&] { p = Allocator::allocate(o); });
        break;
    }
    const bool resized = o.action == Action::kReallocate;
    if (p == nullptr) [[unlikely]] {
      ++thread.refused;
      p = resized ? taken : kRefused;
    } else if (touch) {
      Allocator::touch(p, resized ? taken_bytes : 0, o.bytes);
    }
    player.objects[o.slot].store(p, std::memory_order_release);
  }
  thread.end_ns = now_ns();
  thread.ended.store(true, std::memory_order_release);
  return nullptr;
}

double cycles_per_ns() {
  const uint64_t start_ns = now_ns();
  const uint64_t start = ticks_before();
  usleep(20'000);
  const uint64_t cycles = ticks_before() - start;
  return static_cast<double>(cycles) / static_cast<double>(now_ns() - start_ns);
}

uint64_t overhead_of(Cycles& scratch) {
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t start = ticks_before();
    scratch.record(ticks_after() - start);
  }
  return scratch.percentile(0.5);
}

Latency latency_of(const Cycles& cycles, double per_ns) {
  const auto ns = [&](double share) {
    return static_cast<double>(cycles.percentile(share)) / per_ns;
  };
  return {ns(0.5), ns(0.99), ns(0.999)};
}

PlanHeader* map_plan(int descriptor) {
  struct stat file;
  if (fstat(descriptor, &file) != 0) throw Failure("there is no plan to play");
  void* const memory = mmap(nullptr, static_cast<size_t>(file.st_size), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) throw Failure("no memory for the replay: {}", strerror(errno));
  return static_cast<PlanHeader*>(memory);
}

}  // namespace

void play(int plan_descriptor) {
  PlanHeader& plan = *map_plan(plan_descriptor);
  check_preloaded(plan.library);
  Player player{};
  player.plan = &plan;
  player.waits = plan.wait_array();
  player.objects = lay_out<std::atomic<void*>>(plan.slots);
  player.threads = lay_out<Thread>(plan.streams);
  Cycles* const cycles = lay_out<Cycles>(plan.latencies ? kKinds * (plan.streams + 1) + 1 : 0);
  for (uint64_t i = 0; i < plan.streams; ++i) {
    const Stream& stream = plan.stream_array()[i];
    Thread& thread = *new (&player.threads[i]) Thread{};
    thread.player = &player;
    thread.operations = plan.operation_array() + stream.first;
    thread.count = stream.count;
    thread.cycles = cycles + kKinds * i;
  }
  Cycles* const sums = cycles + kKinds * plan.streams;
  const double per_ns = plan.latencies ? cycles_per_ns() : 1;
  if (plan.latencies) player.start_cycles_overhead = overhead_of(sums[kKinds]);

  status_bytes("VmRSS:");  // touches its buffer
  forget_peak();
  const uint64_t own_bytes = status_bytes("VmRSS:");
  player.start_ns = now_ns();
  if (plan.streams > 0) run_of(plan)(&player.threads[plan.first_stream]);
  for (uint64_t i = 0; i < plan.streams; ++i) {
    const Thread& thread = player.threads[i];
    wait_for([&] { return thread.count == 0 || thread.ended.load(std::memory_order_acquire); });
  }
  Playing playing{};
  const auto above_own = [&](uint64_t bytes) { return bytes - std::min(bytes, own_bytes); };
  playing.end_bytes = above_own(status_bytes("VmRSS:"));
  // The system sums up what it knows of each processor, a little later than it happened.
  playing.peak_bytes = std::max(above_own(status_bytes("VmHWM:")), playing.end_bytes);
  for (uint64_t i = 0; i < plan.streams; ++i) {
    const Thread& thread = player.threads[i];
    playing.allocations += thread.allocations;
    playing.reallocations += thread.reallocations;
    playing.releases += thread.releases;
    playing.refused += thread.refused;
    if (thread.count > 0) {
      playing.time_ns = std::max(playing.time_ns, thread.end_ns - player.start_ns);
    }
    if (!plan.latencies) continue;
    for (int kind = 0; kind < kKinds; ++kind) sums[kind].add(thread.cycles[kind]);
  }
  if (plan.latencies) {
    playing.allocation = latency_of(sums[kAllocations], per_ns);
    playing.reallocation = latency_of(sums[kReallocations], per_ns);
    playing.release = latency_of(sums[kReleases], per_ns);
  }
  playing.finished = true;
  plan.playing = playing;
}

}  // namespace pktmalloc
