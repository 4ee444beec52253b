// SPDX-License-Identifier: MIT
// The heap under libFuzzer: the first byte chooses a geometry, the others are the instructions of
// tests/model/heap_driver.h. An invariant that does not hold ends the process, as what the address
// sanitizer finds and what the heap itself finds (a double free) do.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/model/heap_driver.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

uint64_t executions = 0, instructions = 0, allocs = 0, refusals = 0;

template <size_t kCount>
HeapConfig of_classes(HeapConfig config, const size_t (&sizes)[kCount]) {
  config.sizes = sizes;
  config.sizes_count = kCount;
  return config;
}

HeapConfig geometry(unsigned which) {
  constexpr size_t kMiB = size_t{1} << 20;
  static constexpr size_t kOne[] = {128};
  static constexpr size_t kFew[] = {64, 592, 1536};
  static constexpr size_t kLarge[] = {9216, 40960, 262144};
  switch (which % 6) {
    case 0:
      return of_classes(tiny(kMiB), kOne);
    case 1:
      return of_classes(tiny(2 * kMiB), kFew);
    case 2:
      return of_classes(tiny(16 * kMiB), kLarge);
    case 3:
      return of_few_classes(tiny(2 * kMiB));
    case 4:
      return tiny(4 * kMiB);
    default:
      return roomy();
  }
}

void tell() {
  printf("fuzz: %llu executions of %llu instructions, %llu allocations, %llu refused; no fault\n",
         static_cast<unsigned long long>(executions), static_cast<unsigned long long>(instructions),
         static_cast<unsigned long long>(allocs), static_cast<unsigned long long>(refusals));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return atexit(tell); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count == 0) return 0;
  const auto driver = std::make_unique<HeapDriver>(geometry(bytes[0]));
  try {
    driver->run(bytes + 1, count - 1);
  } catch (const BrokenInvariant& broken) {
    fprintf(stderr, "fuzz: %s, at instruction %llu\n", broken.what(),
            static_cast<unsigned long long>(driver->instructions()));
    abort();
  }
  ++executions;
  instructions += driver->instructions();
  allocs += driver->allocs();
  refusals += driver->refusals();
  return 0;
}
