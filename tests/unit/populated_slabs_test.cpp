// SPDX-License-Identifier: MIT
// Populated slabs (sizeclass/slabs/slab_area.h).
#include <catch2/catch.hpp>

#include "tests/unit/lone_area.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

const size_t kSlab = size_t{1} << unit_shift();

// Slabs in memory.
size_t resident(const LoneArea& area) { return area.pool->resident_bytes() / kSlab; }

void purge_all(LoneArea& area) {
  while (area.pool->purge_some(1000) > 0) {
  }
}

}  // namespace

TEST_CASE("what is populated is in memory before it is used, and is used first") {
  LoneArea area(kSlab / 4, 64);
  CHECK(area->populate(4 * 10 - 3));
  CHECK(resident(area) == 10);
  AreaStatistics s = area->statistics();
  CHECK(s.populated_slabs == 10);
  CHECK(s.slabs == 10);
  CHECK(s.empty_slabs == 10);
  CHECK(s.free_objects == 40);
  const std::vector<uintptr_t> objects = area.fill(41);
  CHECK(objects.front() == area.nth(0, 0));
  CHECK(objects.back() == area.nth(10, 0));
  CHECK(area->statistics().empty_slabs == 0);
  area.drain(objects);
  s = area->statistics();
  CHECK(s.slabs == 10);
  CHECK(s.empty_slabs == 10);
  CHECK(s.free_objects == 40);
}

TEST_CASE("what is populated stays, and what lies behind it goes") {
  LoneArea area(kSlab / 4, 64);
  CHECK(area->populate(4 * 10));
  area.drain(area.fill(4 * 30));
  CHECK(area.pool->empty_units() == 20);
  purge_all(area);
  CHECK(resident(area) == 10);
  CHECK(area.fill(4 * 10).back() == area.nth(9, 3));
}

TEST_CASE("each call populates slabs of its own, whatever became of the others") {
  LoneArea area(kSlab / 4, 64);
  area.fill(4 * 12);
  for (uint32_t slab = 0; slab < 5; ++slab) area.drain(area.slab(slab));
  purge_all(area);
  area.drain(area.slab(8));                      // is empty
  area.drain({area.nth(6, 0), area.nth(6, 2)});  // is partial
  CHECK(area->populate(4 * 3));
  CHECK(area->populate(4 * 11));
  AreaStatistics s = area->statistics();
  CHECK(s.populated_slabs == 14);
  CHECK(s.empty_slabs == 14);
  CHECK(s.slabs == 14 + 6);
  CHECK(s.free_objects == 14 * 4 + 2);
  CHECK(area.pool.used_units() == 20);
  purge_all(area);
  CHECK(resident(area) == 14);  // nobody has written to the others
  CHECK(area.fill(100).size() == 100);
}

TEST_CASE("more than the pool has is refused, and keeps nothing") {
  LoneArea area(kSlab / 4, 64);
  CHECK_FALSE(area->populate(4 * 64 + 1));
  CHECK(area->statistics().slabs == 0);
  CHECK_FALSE(area->populate(~uint64_t{0}));
  CHECK(area->populate(4 * 60));
  CHECK_FALSE(area->populate(4 * 5));
  CHECK(area->statistics().slabs == 60);
  CHECK(area->populate(4 * 4));
  CHECK(area->statistics().populated_slabs == 64);
}

TEST_CASE("what is taken back may go again") {
  LoneArea area(kSlab / 4, 64);
  CHECK(area->populate(4 * 10));
  CHECK(area->populate(4 * 5));
  const std::vector<uintptr_t> objects = area.fill(4 * 12 + 1);
  area->unpopulate(4 * 5);
  AreaStatistics s = area->statistics();
  CHECK(s.populated_slabs == 10);
  CHECK(s.empty_slabs == 0);
  CHECK(area.pool->empty_units() == 2);
  area.drain(objects);
  s = area->statistics();
  CHECK(s.slabs == 10);
  CHECK(s.empty_slabs == 10);
  CHECK(area.pool->empty_units() == 5);
}

TEST_CASE("slabs of several units are populated as a whole") {
  LoneArea area(5 * kSlab / 4, 64);
  REQUIRE(area.shape().units == 5);
  CHECK(area->populate(5));
  CHECK(resident(area) == 10);
  CHECK(area->statistics().populated_slabs == 2);
  area->unpopulate(5);
  CHECK(area.pool->empty_units() == 10);
  CHECK(area->statistics().slabs == 0);
}

TEST_CASE("a heap populates the magazines, too, and a trim leaves both") {
  StartedHeap heap(tiny());
  const ClassId id = heap->classes().find(64);
  const uint64_t before = heap.statistics().metadata_bytes;
  CHECK(heap->populate(id, 10'000));
  const uint64_t kept = heap.of(id).populated_bytes;
  CHECK(kept >= 640'000);
  CHECK(heap->resident_bytes() == kept);
  CHECK(heap.statistics().metadata_bytes > before + 80'000);
  CHECK(heap->trim(nullptr) == 0);
  CHECK(heap->resident_bytes() == kept);
  CHECK(heap.statistics().waiting_bytes == 0);
}

TEST_CASE("calls for few objects each populate as many slabs as one call for all") {
  LoneArea area(kSlab / 4, 64);
  for (int n = 0; n < 5; ++n) CHECK((area->populate(1) == 1 && area->populate(0) == 0));
  CHECK(area->statistics().populated_slabs == 2);
  area->unpopulate(1);
  CHECK(area->statistics().populated_slabs == 1);
  CHECK(area->promised() == 4);
  CHECK_FALSE(area->populate(~uint64_t{0}));
  CHECK(area->promised() == 4);
}

TEST_CASE("the system's huge pages serve for as many objects as they hold") {
  LoneArea area(kSlab / 4, 2000);
  const uint64_t got = area->populate_on_huge_pages(4 * 300);
  CHECK(got <= 4 * 300);
  CHECK(area->promised() == got);
  CHECK(area->populate(4 * 300 - got));
  CHECK(area->statistics().populated_slabs == 300);
  for (const uintptr_t object : area.fill(4 * 400)) *reinterpret_cast<char*>(object) = 1;
}
