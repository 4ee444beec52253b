// SPDX-License-Identifier: MIT
// Bursts of objects, as a packet program takes and returns them. One thread.
//
// `burst WAY [SIZE [BURST [OBJECTS]]]`: takes BURST objects of SIZE bytes, writes to each and
// returns them all, until OBJECTS have been taken. "ns_per_object" is the time for one, taken and
// returned.
//   calls    malloc and free                                            plain
//   header   pktmalloc.hpp, one by one, inlined; SIZE is 64 or 1500
//   batch    pktmalloc_allocate_batch, pktmalloc_release_batch; without our library calls in a loop
#include <cstdlib>
#include <string_view>
#include <vector>

#include "preload/contract/pktmalloc.hpp"
#include "workload.h"

namespace {

struct Plan {
  std::size_t size, burst, objects;
};

template <typename Take, typename Return>
double measure(const Plan& plan, Take take_all, Return return_all) {
  std::vector<void*> burst(plan.burst);
  workload::Stopwatch stopwatch;
  for (std::size_t taken = 0; taken < plan.objects; taken += plan.burst) {
    take_all(burst.data());
    for (void* object : burst) *static_cast<char*>(object) = 1;
    workload::keep(burst.data());
    return_all(burst.data());
  }
  return stopwatch.elapsed_ms();
}

// One by one.
template <typename Take, typename Return>
double measure_singly(const Plan& plan, Take take, Return give_back) {
  return measure(
      plan,
      [&](void** objects) {
        for (std::size_t i = 0; i < plan.burst; ++i) objects[i] = take();
      },
      [&](void** objects) {
        for (std::size_t i = 0; i < plan.burst; ++i) give_back(objects[i]);
      });
}

template <std::size_t Bytes>
double measure_header(const Plan& plan) {
  return measure_singly(
      plan, [] { return pktmalloc::allocate<Bytes>(); },
      [](void* object) { pktmalloc::release<Bytes>(object); });
}

double measure_batch(const Plan& plan) {
  return measure(
      plan,
      [&](void** objects) {
        if (pktmalloc::allocate_batch(plan.size, plan.burst, objects) < plan.burst)
          workload::fail("there is no memory");
      },
      [&](void** objects) { pktmalloc::release_batch(objects, plan.burst); });
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "burst calls|header|batch [SIZE [BURST [OBJECTS]]]";
  if (argc < 2) workload::usage(usage);
  std::string_view way = argv[1];
  const Plan plan{workload::argument(argc, argv, 2, 64, usage),
                  workload::argument(argc, argv, 3, 32, usage),
                  workload::argument(argc, argv, 4, 10'000'000, usage)};
  double ms = 0;
  if (way == "calls") {
    ms = measure_singly(
        plan, [&] { return std::malloc(plan.size); }, std::free);
  } else if (way == "batch") {
    ms = measure_batch(plan);
  } else if (way == "header" && plan.size == 64) {
    ms = measure_header<64>(plan);
  } else if (way == "header" && plan.size == 1500) {
    ms = measure_header<1500>(plan);
  } else {
    workload::usage(usage);
  }
  double ns_per_object = ms * 1e6 / static_cast<double>(plan.objects);
  workload::print_json(argc, argv, {{"ms", ms}, {"ns_per_object", ns_per_object}});
}
