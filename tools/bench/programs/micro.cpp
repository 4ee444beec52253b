// SPDX-License-Identifier: MIT
// The microscopic benchmarks: single calls and short sequences of them. One thread.
//
// `micro [OPTIONS]` takes Google Benchmark's options and prints what that prints: a table, or its
// JSON with --benchmark_format=json. Times are ns per iteration, in which one of these happens:
//   malloc_free/SIZE         a pair of malloc and free
//   new_delete/SIZE          the same through operator new and delete
//   calloc_free/64           a pair of calloc and free
//   realloc_growth/16/4096   malloc of the first size, doubled by realloc up to the second, free
//   batch_of_64/SIZE         64 times malloc, then 64 times free in the same order
//   w3/VARIANT               a round of w3_rationals: 5,000 objects made, then deleted;
//                            items_per_second counts objects
// Every object's first byte is written. A benchmark runs for 20 ms unless --benchmark_min_time says
// otherwise.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "w3_rational.h"
#include "workload.h"

namespace {

// Writes to the object, and hides from the compiler what becomes of it.
void use(void* object) {
  *static_cast<char*>(object) = 1;
  workload::keep(object);
}

std::size_t size_argument(const benchmark::State& state, std::size_t index = 0) {
  return static_cast<std::size_t>(state.range(index));
}

void malloc_free(benchmark::State& state) {
  std::size_t bytes = size_argument(state);
  for (auto _ : state) {
    void* object = std::malloc(bytes);
    use(object);
    std::free(object);
  }
}

void new_delete(benchmark::State& state) {
  std::size_t bytes = size_argument(state);
  for (auto _ : state) {
    void* object = ::operator new(bytes);
    use(object);
    ::operator delete(object, bytes);
  }
}

void calloc_free(benchmark::State& state) {
  std::size_t bytes = size_argument(state);
  for (auto _ : state) {
    void* object = std::calloc(1, bytes);
    use(object);
    std::free(object);
  }
}

void realloc_growth(benchmark::State& state) {
  std::size_t first = size_argument(state), last = size_argument(state, 1);
  for (auto _ : state) {
    void* object = std::malloc(first);
    use(object);
    for (std::size_t bytes = 2 * first; bytes <= last; bytes *= 2) {
      object = std::realloc(object, bytes);
      use(object);
    }
    std::free(object);
  }
}

void batch_of_64(benchmark::State& state) {
  std::size_t bytes = size_argument(state);
  std::array<void*, 64> objects;
  for (auto _ : state) {
    for (void*& object : objects) {
      object = std::malloc(bytes);
      use(object);
    }
    for (void* object : objects) std::free(object);
  }
}

void rationals(benchmark::State& state, const w3::Variant& variant) {
  w3::Rationals objects(w3::kObjects);
  for (auto _ : state) {
    variant.make_all(objects);
    variant.delete_all(objects);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(w3::kObjects));
}

const std::vector<std::int64_t> kSizes = {16, 64, 256, 592, 1500, 4096};

BENCHMARK(malloc_free)->ArgsProduct({kSizes});
BENCHMARK(new_delete)->ArgsProduct({kSizes});
BENCHMARK(calloc_free)->Arg(64);
BENCHMARK(realloc_growth)->Args({16, 4096});
BENCHMARK(batch_of_64)->Arg(64)->Arg(1500);

}  // namespace

int main(int argc, char** argv) {
  for (const w3::Variant& variant : w3::kVariants) {
    std::string name = std::string("w3/") + variant.name;
    benchmark::RegisterBenchmark(name.c_str(), rationals, variant);
  }

  // Our default stands before the caller's options, the last of which counts.
  char min_time[] = "--benchmark_min_time=0.02";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, min_time);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
