// SPDX-License-Identifier: MIT
// W4: the object pool of a messaging back end. T threads.
//
// `w4_exchange [--touch] [--pool POOL] [THREADS [ROUNDS [COUNT]]]`: in every round every thread
// allocates COUNT objects of 64 bytes and frees them in shuffled order. "ms" is the whole time of
// all threads, from the common start until the last one has ended. The shuffle is a permutation
// prepared beforehand: the i-th object is stored at a random place and the places are freed in
// turn, so that the shuffle costs a store and no wait. The objects are not touched, unless --touch
// writes all their bytes. POOL, all but the first to be run under the system's malloc (w4_pools.h):
//   malloc           plain malloc and free
//   hand_written     the study's pool: free lists of threads, whole lists exchanged
//   brpc_stand_in    arrays of pointers, merged into a global list by copying, as brpc does
//   boost_fast_pool  boost::fast_pool_allocator
//   pmr              std::pmr::synchronized_pool_resource
//   header           pktmalloc.hpp, inlined; with our library preloaded
#include <cstring>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "w4_pools.h"
#include "workload.h"

namespace {

struct Plan {
  bool touch;
  std::size_t rounds;
  std::vector<std::uint32_t> places;  // where the i-th object is stored
  std::vector<void*> objects;
};

Plan make_plan(bool touch, std::size_t rounds, std::size_t count, std::size_t seed) {
  Plan plan{touch, rounds, std::vector<std::uint32_t>(count), std::vector<void*>(count)};
  std::iota(plan.places.begin(), plan.places.end(), 0);
  workload::Random random(seed);
  for (std::size_t i = count - 1; i > 0; --i)
    std::swap(plan.places[i], plan.places[random.below(static_cast<std::uint32_t>(i + 1))]);
  return plan;
}

template <typename Pool>
void exchange(Plan& plan) {
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    for (std::uint32_t place : plan.places) {
      void* object = Pool::allocate();
      if (plan.touch) std::memset(object, 1, pools::kObjectBytes);
      plan.objects[place] = object;
    }
    for (void* object : plan.objects) Pool::release(object);
  }
}

// Whether no two of the objects that are handed out after the exchange are the same one.
template <typename Pool>
bool distinct(std::vector<void*>& objects) {
  for (void*& object : objects) {
    object = Pool::allocate();
    std::memcpy(object, &object, sizeof object);
  }
  bool all = true;
  for (void*& object : objects) {
    all = all && std::memcmp(object, &object, sizeof object) == 0;
    Pool::release(object);
  }
  return all;
}

struct Contender {
  std::string_view name;
  void (*exchange)(Plan&);
  bool (*distinct)(std::vector<void*>&);
};

template <typename Pool>
constexpr Contender contender(std::string_view name) {
  return {name, exchange<Pool>, distinct<Pool>};
}

constexpr Contender kContenders[] = {
    contender<pools::Malloc>("malloc"),
    contender<pools::HandWritten>("hand_written"),
    contender<pools::BrpcStandIn>("brpc_stand_in"),
    contender<pools::BoostFastPool>("boost_fast_pool"),
    contender<pools::Pmr>("pmr"),
    contender<pools::Header>("header"),
};

const char* const kUsage =
    "w4_exchange [--touch] [--pool malloc|hand_written|brpc_stand_in|boost_fast_pool|pmr|header] "
    "[THREADS [ROUNDS [COUNT]]]";

const Contender& find(std::string_view name) {
  for (const Contender& contender : kContenders)
    if (contender.name == name) return contender;
  workload::usage(kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  int next = 1;
  bool touch = next < argc && std::string_view(argv[next]) == "--touch";
  if (touch) ++next;
  const Contender* pool = &kContenders[0];
  if (next < argc && std::string_view(argv[next]) == "--pool") {
    pool = &find(next + 1 < argc ? argv[next + 1] : "");
    next += 2;
  }
  std::size_t threads = workload::argument(argc, argv, next, 1, kUsage);
  std::size_t rounds = workload::argument(argc, argv, next + 1, 50, kUsage);
  std::size_t count = workload::argument(argc, argv, next + 2, 100'000, kUsage);

  std::vector<Plan> plans;
  for (std::size_t i = 0; i < threads; ++i) plans.push_back(make_plan(touch, rounds, count, i));
  workload::StartingLine start(threads);
  std::vector<std::thread> running;
  for (Plan& plan : plans) {
    running.emplace_back([&start, &plan, pool] {
      start.wait();
      pool->exchange(plan);
    });
  }

  workload::Stopwatch stopwatch = start.release();
  for (std::thread& thread : running) thread.join();
  double ms = stopwatch.elapsed_ms();

  // Of plain malloc w4_tests asks this, so that here its memory is only that of the exchange.
  bool plain = pool == &kContenders[0];
  if (!plain && !pool->distinct(plans[0].objects))
    workload::fail("w4_exchange: an object was handed out twice");
  workload::print_json(argc, argv, {{"ms", ms}});
}
