// SPDX-License-Identifier: MIT
// The depot's question: which lock, or none, around the stack through which threads exchange
// magazines?
//
// `depot_study VARIANT THREADS [EXCHANGES [WORK]]`: all threads together take a magazine of 64
// objects from the depot and give theirs EXCHANGES times. In between, each does WORK operations:
// an object of the new magazine is replaced by one that the thread has kept, so that magazines and
// objects move between CPUs as they do in a program. WORK=0 is the exchange alone.
//   mutex_vector       std::mutex, vector of magazines
//   spinlock           test-and-test-and-set with pauses, which yields after a while; vector
//   lock_free          the engine's MagazineStack
//   sharded_mutex      eight mutex_vectors; a thread uses its own first
//   sharded_lock_free  the engine's ShardedStack, the same of MagazineStacks
// All are LIFO. The threads are pinned to the CPUs in turn: left to itself, a busy scheduler runs
// them one after the other on one CPU, and nobody meets anybody.
// "ns_per_exchange" is the whole time of all threads, from the common start until the last one has
// ended, divided by EXCHANGES; "ms" is that time itself. "cpus" is the CPU time of the process in
// it, in CPUs: much below the smaller of THREADS and the number of CPUs, others had the machine or
// the threads slept, and the first of these makes the run worthless. The allocator below does not
// matter: nothing is allocated meanwhile.
#include <sched.h>

#include <atomic>
#include <ctime>
#include <latch>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sizeclass/sharded_stack.h"
#include "workload.h"

namespace {

using pktmalloc::Magazine;

constexpr std::uint32_t kRounds = 64;
constexpr unsigned kSize = pktmalloc::size_for_rounds(kRounds);
constexpr std::size_t kMagazineBytes = pktmalloc::bytes_of_size(kSize);
static_assert(pktmalloc::rounds_of_size(kSize) == kRounds);

// A thread holds one and, while it exchanges, two. Twice that many, so that none ever waits for a
// magazine and a shard never runs out.
constexpr std::size_t kMagazinesPerThread = 4;

class Spinlock {
 public:
  void lock() {
    unsigned spins = 0;
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) {
        __builtin_ia32_pause();
        // The owner may be waiting for this CPU.
        if (++spins % kSpins == 0) std::this_thread::yield();
      }
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kSpins = 100;
  std::atomic<bool> locked_ = false;  // release in unlock, acquire in lock
};

// The depots. `thread` is the number of the calling thread.

template <typename Lock>
class alignas(64) LockedVector {
 public:
  void start(std::uintptr_t, std::size_t magazines) { magazines_.reserve(magazines); }

  Magazine* take(std::size_t) {
    std::lock_guard lock(lock_);
    if (magazines_.empty()) return nullptr;
    Magazine* magazine = magazines_.back();
    magazines_.pop_back();
    return magazine;
  }

  void give(std::size_t, Magazine* magazine) {
    std::lock_guard lock(lock_);
    magazines_.push_back(magazine);
  }

 private:
  Lock lock_;
  std::vector<Magazine*> magazines_;
};

constexpr std::size_t kShards = pktmalloc::ShardedStack::kShards;

// Shifted by one in every turn: threads are pinned in turns, too, and a shard is to be shared by
// several CPUs.
std::size_t home(std::size_t thread) { return (thread + thread / kShards) % kShards; }

class ShardedMutex {
 public:
  void start(std::uintptr_t base, std::size_t magazines) {
    for (auto& shard : shards_) shard.start(base, magazines);
  }

  Magazine* take(std::size_t thread) {
    for (std::size_t i = 0; i < kShards; ++i)
      if (Magazine* magazine = shards_[(home(thread) + i) % kShards].take(thread)) return magazine;
    return nullptr;
  }

  void give(std::size_t thread, Magazine* magazine) {
    shards_[home(thread)].give(thread, magazine);
  }

 private:
  LockedVector<std::mutex> shards_[kShards];
};

class LockFree {
 public:
  void start(std::uintptr_t base, std::size_t) { stack_.start(base); }
  Magazine* take(std::size_t) { return stack_.pop(); }
  void give(std::size_t, Magazine* magazine) { stack_.push(magazine); }

 private:
  pktmalloc::MagazineStack stack_;
};

class ShardedLockFree {
 public:
  void start(std::uintptr_t base, std::size_t) { stack_.start(base); }
  Magazine* take(std::size_t thread) { return stack_.pop(static_cast<unsigned>(home(thread))); }
  void give(std::size_t thread, Magazine* magazine) {
    stack_.push(magazine, static_cast<unsigned>(home(thread)));
  }

 private:
  pktmalloc::ShardedStack stack_;
};

// The magazines, numbered from 0; their objects are the numbers from 1 on.
class Magazines {
 public:
  explicit Magazines(std::size_t count) : count_(count) {
    // The first place stays free: its distance from the base, 0, is no magazine's id.
    std::size_t bytes = (count + 1) * kMagazineBytes;
    base_ = static_cast<char*>(std::aligned_alloc(pktmalloc::kMagazineGranule, bytes));
    for (std::size_t i = 0; i < count; ++i) {
      auto* magazine = new (base_ + (i + 1) * kMagazineBytes) Magazine{};
      magazine->set_capacity(kRounds);
      for (std::uint32_t n = 0; n < kRounds; ++n) magazine->objects()[n] = i * kRounds + n + 1;
      magazine->rounds = kRounds;
    }
  }
  ~Magazines() { std::free(base_); }
  Magazines(const Magazines&) = delete;

  std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(base_); }
  std::size_t count() const { return count_; }
  Magazine* at(std::size_t i) const {
    return reinterpret_cast<Magazine*>(base_ + (i + 1) * kMagazineBytes);
  }
  std::size_t number_of(const Magazine* magazine) const {
    return (reinterpret_cast<std::uintptr_t>(magazine) - base()) / kMagazineBytes - 1;
  }

 private:
  char* base_;
  std::size_t count_;
};

struct alignas(64) Worker {
  std::size_t exchanges;
  Magazine* held;
  std::uintptr_t kept[kRounds];  // objects
};

// Onto the CPUs that we may use, in turn.
void pin(std::size_t thread) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::size_t skip = thread % static_cast<std::size_t>(CPU_COUNT(&allowed));
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || skip-- > 0) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Fails by leaving the worker without a magazine.
template <typename Depot>
void exchange(Depot& depot, std::size_t thread, std::size_t work, Worker& worker) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < worker.exchanges; ++i) {
    Magazine* magazine = depot.take(thread);
    depot.give(thread, worker.held);
    worker.held = magazine;
    if (magazine == nullptr) return;
    for (std::size_t n = 0; n < work; ++n, ++next)
      std::swap(magazine->objects()[n % kRounds], worker.kept[next % kRounds]);
  }
}

// Every magazine and every object is in one place.
template <typename Depot>
bool all_there(Depot& depot, const Magazines& magazines, const std::vector<Worker>& workers) {
  std::vector<bool> magazine_seen(magazines.count());
  std::vector<bool> object_seen((magazines.count() + workers.size()) * kRounds + 1);
  std::size_t seen = 0;
  auto see = [&](std::vector<bool>& set, std::size_t i) {
    if (i < set.size() && !set[i]) {
      set[i] = true;
      ++seen;
    }
  };
  auto see_magazine = [&](Magazine* magazine) {
    see(magazine_seen, magazines.number_of(magazine));
    for (std::uint32_t n = 0; n < kRounds; ++n) see(object_seen, magazine->objects()[n]);
  };
  for (const Worker& worker : workers) {
    if (worker.held == nullptr) return false;
    see_magazine(worker.held);
    for (std::uintptr_t object : worker.kept) see(object_seen, object);
  }
  while (Magazine* magazine = depot.take(0)) see_magazine(magazine);
  return seen == magazine_seen.size() + object_seen.size() - 1 && !object_seen[0];
}

template <typename Depot>
int study(int argc, char** argv, const char* usage) {
  std::size_t threads = workload::argument(argc, argv, 2, 0, usage);
  std::size_t exchanges = workload::argument(argc, argv, 3, 2'000'000, usage);
  // argument() takes positive numbers only.
  std::size_t work = argc > 4 && std::string_view(argv[4]) == "0"
                         ? 0
                         : workload::argument(argc, argv, 4, kRounds, usage);

  Magazines magazines(threads * kMagazinesPerThread);
  Depot depot;
  depot.start(magazines.base(), magazines.count());
  std::vector<Worker> workers(threads);
  std::uintptr_t object = magazines.count() * kRounds;
  for (std::size_t i = 0; i < magazines.count(); ++i) {
    std::size_t thread = i % threads;
    if (i < threads)
      workers[thread].held = magazines.at(i);
    else
      depot.give(thread, magazines.at(i));
  }
  for (std::size_t i = 0; i < threads; ++i) {
    workers[i].exchanges = exchanges / threads + (i < exchanges % threads ? 1 : 0);
    for (std::uintptr_t& kept : workers[i].kept) kept = ++object;
  }

  std::latch ready(static_cast<std::ptrdiff_t>(threads)), start(1);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      pin(i);
      ready.count_down();
      start.wait();
      exchange(depot, i, work, workers[i]);
    });
  }
  // The clock starts before the threads do: with more threads than CPUs they may be far, or done,
  // before this one has its next turn.
  ready.wait();
  workload::Stopwatch stopwatch;
  std::clock_t cpu_start = std::clock();
  start.count_down();
  for (std::thread& thread : running) thread.join();
  double ms = stopwatch.elapsed_ms();
  double cpu_ms = static_cast<double>(std::clock() - cpu_start) * 1000 / CLOCKS_PER_SEC;

  if (!all_there(depot, magazines, workers)) {
    std::fprintf(stderr, "a magazine or an object was lost or seen twice\n");
    return 1;
  }
  double ns_per_exchange = ms * 1e6 / static_cast<double>(exchanges);
  workload::print_json(argc, argv,
                       {{"ns_per_exchange", ns_per_exchange}, {"ms", ms}, {"cpus", cpu_ms / ms}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage =
      "depot_study mutex_vector|spinlock|lock_free|sharded_mutex|sharded_lock_free THREADS "
      "[EXCHANGES [WORK]]";
  if (argc < 3 || argc > 5) workload::usage(usage);
  std::string_view variant = argv[1];
  if (variant == "mutex_vector") return study<LockedVector<std::mutex>>(argc, argv, usage);
  if (variant == "spinlock") return study<LockedVector<Spinlock>>(argc, argv, usage);
  if (variant == "sharded_mutex") return study<ShardedMutex>(argc, argv, usage);
  if (variant == "lock_free") return study<LockFree>(argc, argv, usage);
  if (variant == "sharded_lock_free") return study<ShardedLockFree>(argc, argv, usage);
  workload::usage(usage);
}
