// SPDX-License-Identifier: MIT
// The floor: what a malloc and a free cost when nothing else happens.
//
// `floor [--inlined] SIZE PAIRS` times a loop of malloc(SIZE), a store to the first byte, free,
// through the ordinary calls into the shared library. Preloaded with libempty.so (floor_empty.c),
// whose malloc returns a constant and whose free returns, the same program measures the calls
// alone; no allocator can be faster than that. With --inlined, and a SIZE of 64 or 1500,
// pktmalloc.hpp takes the place of the calls.
#include <cstdlib>
#include <string_view>

#include "preload/contract/pktmalloc.hpp"
#include "workload.h"

namespace {

template <typename Allocate, typename Release>
double measure(std::size_t pairs, Allocate allocate, Release release) {
  workload::Stopwatch stopwatch;
  for (std::size_t i = 0; i < pairs; ++i) {
    char* object = static_cast<char*>(allocate());
    *object = 1;
    workload::keep(object);
    release(object);
  }
  return stopwatch.elapsed_ms();
}

template <std::size_t Bytes>
double measure_inlined(std::size_t pairs) {
  return measure(
      pairs, [] { return pktmalloc::allocate<Bytes>(); },
      [](void* object) { pktmalloc::release<Bytes>(object); });
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "floor [SIZE [PAIRS]], floor --inlined 64|1500 [PAIRS]";
  int next = 1;
  bool inlined = argc > 1 && std::string_view(argv[1]) == "--inlined";
  if (inlined) ++next;
  std::size_t size = workload::argument(argc, argv, next, 64, usage);
  std::size_t pairs = workload::argument(argc, argv, next + 1, 50'000'000, usage);

  double ms = 0;
  if (!inlined) {
    ms = measure(
        pairs, [size] { return std::malloc(size); }, std::free);
  } else if (size == 64) {
    ms = measure_inlined<64>(pairs);
  } else if (size == 1500) {
    ms = measure_inlined<1500>(pairs);
  } else {
    workload::usage(usage);
  }

  double ns_per_pair = ms * 1e6 / static_cast<double>(pairs);
  workload::print_json(argc, argv, {{"ms", ms}, {"ns_per_pair", ns_per_pair}});
}
