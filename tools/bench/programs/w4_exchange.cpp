// SPDX-License-Identifier: MIT
// W4: the object pool of a messaging back end. T threads.
//
// `w4_exchange [--touch] [THREADS [ROUNDS [COUNT]]]`: in every round every thread allocates COUNT
// objects of 64 bytes and frees them in shuffled order. "ms" is the whole time of all threads, from
// the common start until the last one has ended. The shuffle is a permutation prepared beforehand:
// the i-th object is stored at a random place and the places are freed in turn, so that the shuffle
// costs a store and no wait. The objects are not touched, unless --touch writes all their bytes.
#include <cstring>
#include <latch>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kObjectBytes = 64;

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

void exchange(Plan& plan) {
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    for (std::uint32_t place : plan.places) {
      void* object = std::malloc(kObjectBytes);
      if (plan.touch) std::memset(object, 1, kObjectBytes);
      plan.objects[place] = object;
    }
    for (void* object : plan.objects) std::free(object);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w4_exchange [--touch] [THREADS [ROUNDS [COUNT]]]";
  bool touch = argc > 1 && std::string_view(argv[1]) == "--touch";
  int first = touch ? 2 : 1;
  std::size_t threads = workload::argument(argc, argv, first, 1, usage);
  std::size_t rounds = workload::argument(argc, argv, first + 1, 50, usage);
  std::size_t count = workload::argument(argc, argv, first + 2, 100'000, usage);

  std::vector<Plan> plans;
  for (std::size_t i = 0; i < threads; ++i) plans.push_back(make_plan(touch, rounds, count, i));
  std::latch start(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::thread> running;
  for (Plan& plan : plans) {
    running.emplace_back([&start, &plan] {
      start.arrive_and_wait();
      exchange(plan);
    });
  }

  start.arrive_and_wait();
  workload::Stopwatch stopwatch;
  for (std::thread& thread : running) thread.join();
  workload::print_json(argc, argv, {{"ms", stopwatch.elapsed_ms()}});
}
