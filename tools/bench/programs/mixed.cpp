// SPDX-License-Identifier: MIT
// Mixed sizes: a general program, with threads that come and go.
//
// `mixed [THREADS [GENERATIONS [OPERATIONS]]]`: every thread does OPERATIONS on its table of 500
// slots; one picks a slot at random, frees the object there or, if there is none, allocates one and
// writes its first and last byte. Sizes reach from 16 bytes to 200 KiB: the square of a uniform
// random number is the logarithm, so half of them are below 170 bytes. A generation of threads ends
// before the next one starts, and each new thread takes over the surviving objects of its
// neighbour in the generation before. "ms" is the whole time, "minor_faults" the page faults in it.
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kSlots = 500;
constexpr double kSmallest = 16, kLargest = 200 * 1024;

using Table = std::array<std::unique_ptr<char[]>, kSlots>;

// Drawn from uniformly, gives the distribution of sizes above.
std::array<std::size_t, 4096> make_sizes() {
  std::array<std::size_t, 4096> sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double uniform = static_cast<double>(i) / (sizes.size() - 1);
    double size = kSmallest * std::pow(kLargest / kSmallest, uniform * uniform);
    sizes[i] = static_cast<std::size_t>(size);
  }
  return sizes;
}

void operate(Table& table, std::size_t operations, std::size_t seed) {
  static const std::array sizes = make_sizes();
  workload::Random random(seed);
  for (std::size_t i = 0; i < operations; ++i) {
    std::unique_ptr<char[]>& object = table[random.below(kSlots)];
    if (object) {
      object.reset();
      continue;
    }
    std::size_t size = sizes[random.below(sizes.size())];
    object.reset(new char[size]);
    object[0] = object[size - 1] = 1;
    workload::keep(object.get());
  }
}

long minor_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "mixed [THREADS [GENERATIONS [OPERATIONS]]]";
  std::size_t threads = workload::argument(argc, argv, 1, 4, usage);
  std::size_t generations = workload::argument(argc, argv, 2, 20, usage);
  std::size_t operations = workload::argument(argc, argv, 3, 50'000, usage);

  workload::Stopwatch stopwatch;
  long faults_before = minor_faults();
  std::vector<Table> tables(threads);
  for (std::size_t generation = 0; generation < generations; ++generation) {
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < threads; ++i) {
      Table& table = tables[(i + generation) % threads];
      std::size_t seed = generation * threads + i;
      running.emplace_back([&table, operations, seed] { operate(table, operations, seed); });
    }
    for (std::thread& thread : running) thread.join();
  }
  tables.clear();
  double faults = static_cast<double>(minor_faults() - faults_before);
  workload::print_json(argc, argv, {{"ms", stopwatch.elapsed_ms()}, {"minor_faults", faults}});
}
