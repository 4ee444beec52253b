// SPDX-License-Identifier: MIT
// Huge pages under slabs (sizeclass/huge_slabs.cpp): what is purged, and when.
#include <catch2/catch.hpp>
#include <set>

#include "sizeclass/memory.h"
#include "tests/model/random.h"
#include "tests/skip.h"
#include "tests/unit/lone_area.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr size_t kSlab = size_t{64} << 10;
constexpr size_t kArea = size_t{64} << 20;
const size_t kColour = 17 * memory::page_bytes();  // slabs do not begin where huge pages do
constexpr uint32_t kUsed = 900;                    // of 1,022 slabs
constexpr uint32_t kEach = 4;                      // objects in a slab

// All slabs in use.
struct FullArea {
  explicit FullArea(HugePages use) : area(kSlab / kEach, kArea, 1, kColour, 16) {
    area->set_huge_pages(use);
    area.fill(kUsed * kEach);
  }
  void free(uint32_t slab) {
    for (uint32_t n = 0; n < kEach; ++n) area.drain({area.object(slab, n)});
  }
  void free_all_but(const std::set<uint32_t>& kept) {
    for (uint32_t slab = 0; slab < kUsed; ++slab) {
      if (kept.count(slab) == 0) free(slab);
    }
  }
  // As ageing does it; then nothing waits any more.
  void purge(bool splits = false) {
    while (area->purge_some(64, splits) > 0) {
    }
    CHECK(area->empty_slabs() == 0);
  }
  uint64_t purged() { return area->statistics().purged_slabs; }
  // The first of the huge pages that the slab lies in, and the last.
  uintptr_t page(uint32_t slab) const { return area.object(slab, 0) / memory::huge_page_bytes(); }
  uintptr_t last_page(uint32_t slab) const {
    return (area.object(slab, 0) + kSlab - 1) / memory::huge_page_bytes();
  }

  LoneArea area;
};

// Slabs in the huge page of this one; those that lie in two are in both.
std::set<uint32_t> neighbours(const FullArea& full, uint32_t slab) {
  std::set<uint32_t> found;
  for (uint32_t other = 0; other < kUsed; ++other) {
    if (full.last_page(other) >= full.page(slab) && full.page(other) <= full.last_page(slab)) {
      found.insert(other);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("without huge pages each empty slab is purged") {
  for (const HugePages use : {HugePages::kAuto, HugePages::kNever}) {
    FullArea full(use);
    full.free_all_but({100, 500});
    full.purge();
    CHECK(full.purged() == kUsed - 2);
  }
}

TEST_CASE("a huge page in use stays whole, and goes when its last object is free") {
  if (memory::huge_page_bytes() > kArea / 16) skip("huge pages are too large for this area");
  FullArea full(HugePages::kMadvise);
  full.free_all_but({500});
  full.purge();
  const uint64_t kept = neighbours(full, 500).size();
  CHECK(kept >= 32);
  // Slabs at their edges lie in other huge pages as well, which are split there.
  CHECK(full.purged() <= kUsed - kept + 2);
  CHECK(full.purged() >= kUsed - kept - 2);
  CHECK(full.area->statistics().empty_slabs == kUsed - 1 - full.purged());
  full.free(500);
  full.purge();
  CHECK(full.purged() == kUsed);
  CHECK(full.area->purge_some(1) == 0);
}

TEST_CASE("the beginning of an area has small pages, which go one by one") {
  FullArea full(HugePages::kMadvise);
  std::set<uint32_t> all;
  for (uint32_t slab = 0; slab < kUsed; ++slab) all.insert(slab);
  for (uint32_t slab = 0; slab < 96; slab += 2) all.erase(slab);
  full.free_all_but(all);
  full.purge();
  CHECK(full.purged() == 48);
}

TEST_CASE("what is kept with a huge page is used before what was purged") {
  FullArea full(HugePages::kMadvise);
  full.free_all_but({500});
  full.purge();
  const uint64_t purged = full.purged();
  const auto kept = static_cast<uint32_t>(full.area->statistics().empty_slabs);
  CHECK(full.area.fill(kept * kEach).size() == kept * kEach);
  CHECK(full.purged() == purged);
}

TEST_CASE("a trim splits huge pages") {
  if (memory::huge_page_bytes() > kArea / 16) skip("huge pages are too large for this area");
  FullArea full(HugePages::kMadvise);
  full.free_all_but({100, 500});
  full.purge();
  CHECK(full.purged() < kUsed - 2);
  full.area->forget_kept();
  full.purge(true);
  CHECK(full.purged() == kUsed - 2);
}

TEST_CASE("whatever is freed in whatever order, whole huge pages go and others stay") {
  if (memory::huge_page_bytes() > kArea / 16) skip("huge pages are too large for this area");
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    FullArea full(HugePages::kMadvise);
    const uint32_t first = 300;  // safely in huge pages
    std::set<uint32_t> used;
    for (uint32_t slab = 0; slab < kUsed; ++slab) used.insert(slab);
    for (int round = 0; round < 40; ++round) {
      const uint32_t from = random.below(kUsed);
      const uint32_t until = std::min(kUsed, from + 1 + random.below(120));
      for (uint32_t slab = from; slab < until; ++slab) {
        if (used.erase(slab) > 0) full.free(slab);
      }
      for (uint32_t n = random.below(6); n > 0; --n) full.area->purge_some(1 + random.below(64));
    }
    full.purge();
    uint32_t split = 0;
    uint32_t held = 0;
    for (uint32_t slab = first; slab < kUsed - 64; ++slab) {
      if (used.count(slab) > 0) continue;
      bool alone = true;  // nothing in its huge pages is used
      for (const uint32_t other : neighbours(full, slab)) alone &= used.count(other) == 0;
      const bool purged = !full.area->holds(full.area.object(slab, 0));
      split += purged && !alone;
      held += !purged && alone;
    }
    CHECK(split == 0);
    CHECK(held == 0);
  }
}

TEST_CASE("the pool of huge pages serves as far as it reaches, and small pages the rest") {
  LoneArea area(kSlab / kEach, kArea, 1, kColour, 16);
  const uint64_t bytes = area->commit_from_pool(200 * kEach);
  CHECK(bytes % memory::huge_page_bytes() == 0);
  CHECK(bytes <= 200 * kSlab);
  CHECK(area->populate(200 * kEach));
  for (const uintptr_t object : area.fill(300 * kEach)) *reinterpret_cast<char*>(object) = 1;
  CHECK(area->statistics().populated_slabs == 200);
}
