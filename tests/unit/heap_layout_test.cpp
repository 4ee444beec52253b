// SPDX-License-Identifier: MIT
// Where the heap's bookkeeping lies, as the system tells it.
#include <catch2/catch.hpp>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

struct Mapping {
  uintptr_t begin, end;
  bool accessible;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping m{};
    char access[5] = "";
    if (sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &m.begin, &m.end, access) != 3) {
      continue;
    }
    m.accessible = std::string(access, 3) != "---";
    all.push_back(m);
  }
  return all;
}

// The stretch of accessible pages around an address has an inaccessible page on either side.
bool guarded(uintptr_t address) {
  const std::vector<Mapping> all = mappings();
  for (size_t i = 1; i + 1 < all.size(); ++i) {
    if (address < all[i].begin || address >= all[i].end) continue;
    const Mapping &below = all[i - 1], &above = all[i + 1];
    return all[i].accessible && !below.accessible && below.end == all[i].begin &&
           !above.accessible && above.begin == all[i].end;
  }
  return false;
}

}  // namespace

TEST_CASE("slab records, caches and magazines each lie between pages that nobody can touch") {
  for (const HeapConfig& config : {roomy(), HeapConfig{}}) {
    StartedHeap heap(config);
    REQUIRE(heap.started);
    Cache* cache = heap->attach();
    void* object = heap->allocate(cache, ClassId{3});
    REQUIRE(object != nullptr);
    const uintptr_t caches = reinterpret_cast<uintptr_t>(cache);  // the first begins its region
    CHECK(guarded(caches));
    // The records of the first slabs end a page before the caches begin.
    CHECK(guarded(caches - memory::page_bytes() - 1));
    CHECK(guarded(reinterpret_cast<uintptr_t>(object)));
    // A cache begins with the addresses of its magazines' top objects.
    const uintptr_t top = reinterpret_cast<uintptr_t*>(cache)[3];
    REQUIRE(top != reinterpret_cast<uintptr_t>(kSentinel));
    CHECK(guarded(top));
    heap->release(cache, ClassId{3}, object);
    heap->detach(cache);
  }
}
