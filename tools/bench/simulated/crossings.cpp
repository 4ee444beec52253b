// SPDX-License-Identifier: MIT
// Which cache lines cross between processors, and between nodes of them, when the engine serves
// many.
//
//   crossings queue|pairs|exchange|larson THREADS [NODES [OPERATIONS [divided]]]
//
//   queue     W2: thread 0 reads and frees what all others allocate and write, 48 bytes each
//   pairs     W2 in pairs: thread 1 allocates and writes packets of 1500 bytes, thread 0 reads and
//             frees them; so do 3 and 2, 5 and 4, ...
//   exchange  W4 with --touch: each allocates 4000 objects of 64 bytes and frees them, shuffled
//   larson    W6: each replaces objects of 8 to 1000 bytes in a table of 1000; after 5000 it leaves
//             the table to a thread with another cache, and ends
//
// One thread plays them all: each takes its turn, in an order that a seed gives. A turn is one
// replacement, one allocation, one free, or the frees of what has come. Each thread has a processor
// to itself, and those with numbers next to each other are a node. Divided: threads of different
// nodes have different homes in the depot. OPERATIONS counts turns a thread; half as many before
// warm it up.
//
// Prints one line of JSON, lines per 1000 calls of the library: those that came from a processor of
// the same node (near) or of another (far), for the words of the library's heap, for what it has
// elsewhere (magazines, records of slabs, caches), and for the program's objects.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sizeclass/heap/heap.h"
#include "tools/bench/programs/workload.h"
#include "tools/bench/simulated/references.h"

namespace {

using namespace pktmalloc;
using simulated::Acting;
using simulated::Part;

Heap heap;

uint64_t calls = 0;

struct Object {
  char* bytes;
  size_t size;
};

// A thread of the play. Its functions announce it.
class Player {
 public:
  // With this home in the depot, else with that of its cache.
  Player(unsigned number, std::optional<unsigned> home) : number_(number), home_(home) { come(); }

  Object allocate(size_t bytes) {
    const ClassId id = heap.classes().find(bytes);
    Cache* const cache = cache_;
    ++calls;
    void* object = nullptr;
    {
      const Acting acting(Part::kLibrary, number_);
      object = cache->allocate(id);
      if (object == nullptr) object = heap.allocate(cache, id);
    }
    if (object == nullptr) std::abort();
    return {static_cast<char*>(object), bytes};
  }

  void release(Object object) {
    const ClassId id = heap.class_of(object.bytes);
    Cache* const cache = cache_;
    ++calls;
    const Acting acting(Part::kLibrary, number_);
    if (!cache->release(id, object.bytes)) heap.release(cache, id, object.bytes);
  }

  void write(Object object) {
    each_line(object, [](volatile char& byte) { byte = 1; });
  }
  void read(Object object) {
    each_line(object, [](const volatile char& byte) { return byte; });
  }

  // Another thread begins here, then this one ends.
  void hand_over() {
    Cache* const old = cache_;
    come();
    const Acting acting(Part::kLibrary, number_);
    heap.detach(old);
  }

 private:
  template <typename Visit>
  void each_line(Object object, Visit visit) const {
    constexpr size_t kLine = size_t{1} << simulated::kLineShift;
    const Acting acting(Part::kProgram, number_);
    for (size_t at = 0; at < object.size; at += kLine) visit(object.bytes[at]);
  }

  void come() {
    Cache* cache = nullptr;
    {
      const Acting acting(Part::kLibrary, number_);
      cache = heap.attach();
    }
    if (cache == nullptr) std::abort();
    cache_ = cache;
    if (home_) cache_->home = static_cast<uint8_t>(*home_);
  }

  unsigned number_;
  std::optional<unsigned> home_;
  Cache* cache_ = nullptr;
};

// Of the homes that its node has for itself; with more nodes than homes they share.
unsigned home_of(unsigned thread, unsigned node, unsigned nodes) {
  const unsigned homes = std::max(ShardedStack::kShards / nodes, 1U);
  return (node * homes + thread % homes) % ShardedStack::kShards;
}

class Workload {
 public:
  virtual ~Workload() = default;
  virtual void turn(unsigned thread) = 0;
};

class Queues : public Workload {
 public:
  Queues(std::vector<Player>& players, size_t bytes, bool pairs)
      : players_(players), bytes_(bytes), pairs_(pairs), waiting_(players.size()) {}

  void turn(unsigned thread) override {
    const unsigned consumer = pairs_ ? thread & ~1U : 0;
    auto& queue = waiting_[consumer];
    if (thread != consumer) {
      const Object object = players_[thread].allocate(bytes_);
      players_[thread].write(object);
      queue.push_back(object);
      return;
    }
    // As many as came since; a few wait always.
    for (; queue.size() > kWaiting; queue.pop_front()) {
      players_[consumer].read(queue.front());
      players_[consumer].release(queue.front());
    }
  }

 private:
  static constexpr size_t kWaiting = 32;
  std::vector<Player>& players_;
  size_t bytes_;
  bool pairs_;
  std::vector<std::deque<Object>> waiting_;  // by consumer
};

class Exchange : public Workload {
 public:
  explicit Exchange(std::vector<Player>& players) : players_(players), tables_(players.size()) {
    workload::Random random(7);
    std::iota(places_.begin(), places_.end(), 0);
    for (uint32_t i = kObjects - 1; i > 0; --i) std::swap(places_[i], places_[random.below(i + 1)]);
    for (Table& table : tables_) table.at = random.below(kObjects);
  }

  void turn(unsigned thread) override {
    Table& table = tables_[thread];
    if (table.at == 2 * kObjects) table.at = 0;
    if (table.at < kObjects) {
      Object& object = table.objects[places_[table.at]];
      object = players_[thread].allocate(64);
      players_[thread].write(object);
    } else if (Object& object = table.objects[table.at - kObjects]; object.bytes != nullptr) {
      players_[thread].release(object);
    }
    ++table.at;
  }

 private:
  static constexpr uint32_t kObjects = 4000;
  struct Table {
    uint32_t at = 0;  // allocations, then releases
    std::vector<Object> objects = std::vector<Object>(kObjects);
  };
  std::vector<Player>& players_;
  std::vector<uint32_t> places_ = std::vector<uint32_t>(kObjects);
  std::vector<Table> tables_;
};

class Larson : public Workload {
 public:
  explicit Larson(std::vector<Player>& players) : players_(players), tables_(players.size()) {}

  void turn(unsigned thread) override {
    Player& player = players_[thread];
    Table& table = tables_[thread];
    // Some end earlier the first time, so that they do not all end at once.
    if (++table.replacements % kOfThread == size_t{thread} * kOfThread / players_.size()) {
      player.hand_over();
    }
    Object& object = table.objects[random_.below(kSlots)];
    if (object.bytes != nullptr) player.release(object);
    object = player.allocate(8 + random_.below(993));
    player.write(object);
  }

 private:
  static constexpr uint32_t kSlots = 1000, kOfThread = 5000;
  struct Table {
    size_t replacements = 0;
    std::vector<Object> objects = std::vector<Object>(kSlots);
  };
  std::vector<Player>& players_;
  std::vector<Table> tables_;
  workload::Random random_{3};
};

std::unique_ptr<Workload> workload_named(std::string_view name, std::vector<Player>& players) {
  if (name == "queue") return std::make_unique<Queues>(players, 48, false);
  if (name == "pairs") return std::make_unique<Queues>(players, 1500, true);
  if (name == "exchange") return std::make_unique<Exchange>(players);
  if (name == "larson") return std::make_unique<Larson>(players);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const usage =
      "crossings queue|pairs|exchange|larson THREADS [NODES [OPERATIONS [divided]]]";
  const auto threads = static_cast<unsigned>(workload::argument(argc, argv, 2, 2, usage));
  const auto nodes = static_cast<unsigned>(workload::argument(argc, argv, 3, 1, usage));
  const size_t operations = workload::argument(argc, argv, 4, 50'000, usage);
  const bool divided = argc == 6 && std::string_view(argv[5]) == "divided";
  if (argc < 2 || (argc > 5 && !divided) || threads < 2 || threads > simulated::kMostProcessors ||
      nodes > threads)
    workload::usage(usage);

  simulated::Coherence coherence(threads, nodes);
  simulated::begin_to_watch(coherence, &heap, sizeof heap);
  HeapConfig config;
  config.interval_ms = 3'600'000;  // what ageing does by the clock would come anywhere
  if (!heap.start(config)) workload::fail("no address space");
  std::vector<Player> players;
  for (unsigned n = 0; n < threads; ++n) {
    players.emplace_back(
        n, divided ? std::optional(home_of(n, coherence.node_of(n), nodes)) : std::nullopt);
  }
  const auto work = workload_named(argv[1], players);
  if (work == nullptr) workload::usage(usage);
  workload::Random random(1);
  for (size_t n = 0; n < operations * threads * 3 / 2; ++n) {
    if (n == operations * threads / 2) {
      simulated::counts() = {};
      calls = 0;
    }
    work->turn(random.below(threads));
  }
  const auto& [words, elsewhere, program] = simulated::counts();
  const auto each = [](uint64_t lines) {
    return 1000.0 * static_cast<double>(lines) / static_cast<double>(calls);
  };
  std::printf(
      "{\"calls\": %lu, \"heap_near\": %.2f, \"heap_far\": %.2f, \"elsewhere_near\": %.2f, "
      "\"elsewhere_far\": %.2f, \"program_near\": %.2f, \"program_far\": %.2f}\n",
      calls, each(words.near), each(words.far), each(elsewhere.near), each(elsewhere.far),
      each(program.near), each(program.far));
}
