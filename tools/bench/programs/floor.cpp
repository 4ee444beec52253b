// SPDX-License-Identifier: MIT
// The floor: what a malloc and a free cost when nothing else happens.
//
// `floor SIZE PAIRS` times a loop of malloc(SIZE), a store to the first byte, free, through the
// ordinary calls into the shared library. Preloaded with libempty.so (floor_empty.c), whose malloc
// returns a constant and whose free returns, the same program measures the calls alone; no
// allocator can be faster than that.
#include <cstdlib>

#include "workload.h"

int main(int argc, char** argv) {
  const char* usage = "floor [SIZE [PAIRS]]";
  std::size_t size = workload::argument(argc, argv, 1, 64, usage);
  std::size_t pairs = workload::argument(argc, argv, 2, 50'000'000, usage);

  workload::Stopwatch stopwatch;
  for (std::size_t i = 0; i < pairs; ++i) {
    char* object = static_cast<char*>(std::malloc(size));
    *object = 1;
    workload::keep(object);
    std::free(object);
  }
  double ms = stopwatch.elapsed_ms();

  double ns_per_pair = ms * 1e6 / static_cast<double>(pairs);
  workload::print_json(argc, argv, {{"ms", ms}, {"ns_per_pair", ns_per_pair}});
}
