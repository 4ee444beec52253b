// SPDX-License-Identifier: MIT
// Populated slabs (sizeclass/populated_slabs.cpp).
#include <catch2/catch.hpp>

#include "sizeclass/memory.h"
#include "tests/unit/lone_area.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

const size_t kSlab = memory::page_bytes();

// Slabs in memory, of the first `slabs`.
size_t resident(const LoneArea& area, uint32_t slabs) {
  return memory::resident_bytes(reinterpret_cast<void*>(area.base()), slabs * kSlab) / kSlab;
}

std::vector<uintptr_t> first(const std::vector<uintptr_t>& objects, size_t count) {
  return {objects.begin(), objects.begin() + static_cast<ptrdiff_t>(count)};
}

}  // namespace

TEST_CASE("what is populated is in memory before it is used, and is used first") {
  LoneArea area(kSlab / 4, 64 * kSlab);
  CHECK(area->populate(4 * 10 - 3));
  CHECK(resident(area, 20) == 10);
  AreaStatistics s = area->statistics();
  CHECK(s.populated_slabs == 10);
  CHECK(s.used_slabs == 10);
  CHECK(s.empty_slabs == 10);
  CHECK(s.free_objects == 40);
  CHECK(area->empty_slabs() == 0);  // none that could go
  const std::vector<uintptr_t> objects = area.fill(41);
  CHECK(objects.front() == area.object(0, 0));
  CHECK(objects.back() == area.object(10, 0));
  area.drain(objects);
  s = area->statistics();
  CHECK(s.empty_slabs == 11);
  CHECK(s.free_objects == 44);
}

TEST_CASE("what is populated is never purged, and what lies behind it is") {
  LoneArea area(kSlab / 4, 64 * kSlab);
  CHECK(area->populate(4 * 10));
  area.drain(area.fill(4 * 30));
  CHECK(area->empty_slabs() == 20);
  CHECK(area->purge_some(100) == 20);
  CHECK(area->purge_some(100) == 0);
  CHECK(area.fill(4 * 10).back() == area.object(9, 3));
  CHECK(area->statistics().purged_slabs == 20);
}

TEST_CASE("slabs that are populated count as open, and not below nothing when they are purged") {
  Growth growth;
  LoneArea area(kSlab / 4, 64 * kSlab);
  area->set_growth(growth);
  CHECK(area->populate(4 * 10));
  CHECK(growth.open_bytes() == 10 * kSlab);
  area->unpopulate(4 * 10);
  CHECK(area->purge_some(100) == 10);
  CHECK(growth.open_bytes() == 0);
  CHECK(area->populate(4 * 3));
  CHECK(growth.open_bytes() == 3 * kSlab);
}

TEST_CASE("each call populates more, whatever became of the slabs") {
  LoneArea area(kSlab / 4, 64 * kSlab);
  std::vector<uintptr_t> objects = area.fill(4 * 12);
  area.drain(first(objects, 20));                                // slabs 0 to 4 are empty
  area.drain({area.object(6, 0), area.object(6, 2)});            // 6 is partial
  area.drain(std::vector(objects.begin() + 40, objects.end()));  // 10 and 11 are empty, and go
  CHECK(area->purge_some(2) == 2);
  CHECK(area->populate(4 * 3));
  CHECK(area->statistics().populated_slabs == 3);
  CHECK(area->empty_slabs() == 2);
  CHECK(area->populate(4 * 11));
  CHECK(resident(area, 64) == 14);
  const AreaStatistics s = area->statistics();
  CHECK(s.populated_slabs == 14);
  CHECK(s.purged_slabs == 0);
  CHECK(s.empty_slabs == 5 + 2 + 2);
  CHECK(s.free_objects == 20 + 2 + 8 + 8);
  CHECK(area.fill(100).size() == 100);
}

TEST_CASE("more than the area has is refused, and keeps nothing") {
  LoneArea area(kSlab / 4, 64 * kSlab);
  CHECK_FALSE(area->populate(4 * 64 + 1));
  CHECK_FALSE(area->populate(~uint64_t{0}));
  CHECK(area->populate(4 * 60));
  CHECK_FALSE(area->populate(4 * 5));
  CHECK(area->populate(4 * 4));
  CHECK(area->statistics().populated_slabs == 64);
}

TEST_CASE("what is taken back ages again") {
  LoneArea area(kSlab / 4, 64 * kSlab);
  CHECK(area->populate(4 * 10));
  CHECK(area->populate(4 * 5));
  const std::vector<uintptr_t> objects = area.fill(4 * 12 + 1);
  area->unpopulate(4 * 5);
  CHECK(area->statistics().populated_slabs == 10);
  CHECK(area->empty_slabs() == 2);
  area.drain(objects);
  CHECK(area->empty_slabs() == 5);
  CHECK(area->purge_some(100) == 5);
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
  LoneArea area(kSlab / 4, 64 * kSlab);
  for (int n = 0; n < 5; ++n) CHECK((area->populate(1) && area->populate(0)));
  CHECK(area->statistics().populated_slabs == 2);
  area->unpopulate(1);
  CHECK(area->statistics().populated_slabs == 1);
  CHECK(area->promised() == 4);
  CHECK_FALSE(area->populate(~uint64_t{0}));
  CHECK(area->promised() == 4);
}
