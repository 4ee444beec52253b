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

// Nobody can touch the pages before and behind the stretch of accessible pages around an address.
bool guarded(uintptr_t address) {
  const std::vector<Mapping> all = mappings();
  const auto accessible = [&](uintptr_t at) {
    for (const Mapping& m : all) {
      if (at >= m.begin && at < m.end) return m.accessible;
    }
    return false;
  };
  for (const Mapping& m : all) {
    if (address >= m.begin && address < m.end) {
      return m.accessible && !accessible(m.begin - 1) && !accessible(m.end);
    }
  }
  return false;
}

}  // namespace

TEST_CASE("objects, caches and magazines each lie between pages that nobody can touch") {
  for (const HeapConfig& config : {roomy(), whole()}) {
    StartedHeap heap(config);
    REQUIRE(heap.started);
    Cache* cache = heap->attach();
    void* object = heap->allocate(cache, ClassId{3});
    REQUIRE(object != nullptr);
    CHECK(guarded(reinterpret_cast<uintptr_t>(cache)));
    CHECK(guarded(reinterpret_cast<uintptr_t>(object)));
    // A cache begins with the addresses of its magazines' top objects.
    const uintptr_t top = reinterpret_cast<uintptr_t*>(cache)[3];
    REQUIRE(top != reinterpret_cast<uintptr_t>(kSentinel));
    CHECK(guarded(top));
    heap->release(cache, ClassId{3}, object);
    heap->detach(cache);
  }
}
