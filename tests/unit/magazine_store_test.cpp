// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine_store.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "tests/unit/idle.h"
#include "tests/unit/lone_pool.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

struct LoneStore {
  explicit LoneStore(uint32_t units = 255) : pool(units) { store.start(*pool); }
  LonePool pool;
  MagazineStore store;
};

unsigned full_marks(Magazine& magazine) {
  unsigned marks = 0;
  for (uint32_t n = 0; n < rounds_of_size(magazine.size) + 2; ++n) {
    marks += magazine.slots()[n] == kFullMark;
  }
  return marks;
}

void stuff(Magazine& magazine) {
  for (uint32_t n = 0; n < magazine.capacity; ++n) magazine.objects()[n] = 0x1000 + n;
}

}  // namespace

TEST_CASE("an obtained magazine is empty, of the capacity asked for, and of the smallest size") {
  LoneStore lone;
  for (uint32_t capacity = 1; capacity <= rounds_of_size(kMagazineSizes - 1); ++capacity) {
    Magazine* magazine = lone.store.obtain(capacity);
    REQUIRE(magazine != nullptr);
    CAPTURE(capacity);
    CHECK(magazine->rounds == 0);
    CHECK(magazine->capacity == capacity);
    CHECK(magazine->size == size_for_rounds(capacity));
    CHECK(magazine->slots()[0] == kEmptyMark);
    CHECK(magazine->slots()[capacity + 1] == kFullMark);
    CHECK(full_marks(*magazine) == 1);
    CHECK(reinterpret_cast<uintptr_t>(magazine) % kMagazineGranule == 0);
    stuff(*magazine);
    lone.store.give_back(magazine);
  }
}

TEST_CASE("a magazine that comes back is the next one obtained") {
  LoneStore lone;
  Magazine* first = lone.store.obtain(16);
  lone.store.give_back(first);
  CHECK(lone.store.empties(0).depth() == 1);
  CHECK(lone.store.obtain(10) == first);
  CHECK(first->capacity == 10);
  CHECK(lone.store.empties(0).depth() == 0);
}

TEST_CASE("a magazine that went through its slab keeps no full mark of its former capacity") {
  LoneStore lone;
  for (const uint32_t former : {2U, 7U, 15U, 16U}) {
    for (const uint32_t later : {16U, 15U, 7U, 2U}) {
      Magazine* magazine = lone.store.obtain(former);
      stuff(*magazine);
      lone.store.give_back(magazine);
      REQUIRE(make_idle(lone.store.empties(0)) == 1);
      REQUIRE(lone.store.drain_one(0));
      Magazine* again = lone.store.obtain(later);
      CAPTURE(former, later);
      REQUIRE(again == magazine);
      CHECK(again->slots()[later + 1] == kFullMark);
      CHECK(full_marks(*again) == 1);
      lone.store.retire(again);
    }
  }
}

TEST_CASE("empties drained to slabs can be purged and obtained again") {
  LoneStore lone;
  std::vector<Magazine*> magazines;
  for (int n = 0; n < 400; ++n) {
    magazines.push_back(lone.store.obtain(256));
    REQUIRE(magazines.back() != nullptr);
  }
  CHECK(std::set<Magazine*>(magazines.begin(), magazines.end()).size() == 400);
  for (Magazine* magazine : magazines) {
    stuff(*magazine);
    lone.store.give_back(magazine);
  }
  CHECK(lone.store.empties(4).depth() == 400);
  CHECK_FALSE(lone.store.drain_one(4));
  CHECK(make_idle(lone.store.empties(4)) == 400);
  while (lone.store.drain_one(4)) {
  }
  CHECK(lone.store.empties(4).depth() == 0);
  CHECK(lone.store.area(4).statistics().slabs == 0);
  while (lone.pool->purge_some(64) > 0) {
  }
  CHECK(lone.pool.open_units() == 0);
  Magazine* again = lone.store.obtain(200);
  REQUIRE(again != nullptr);
  CHECK(again->size == 4);
  CHECK(again->slots()[0] == kEmptyMark);
  CHECK(full_marks(*again) == 1);
}

TEST_CASE("a retired magazine goes to its slab at once, without its full mark") {
  LoneStore lone;
  lone.store.obtain(20);  // so that the slab stays
  Magazine* magazine = lone.store.obtain(20);
  const uint64_t before = lone.store.area(1).statistics().free_objects;
  stuff(*magazine);
  magazine->rounds = 0;
  lone.store.retire(magazine);
  CHECK(lone.store.empties(1).depth() == 0);
  CHECK(lone.store.area(1).statistics().free_objects == before + 1);
  Magazine* again = lone.store.obtain(32);
  CHECK(again == magazine);
  CHECK(full_marks(*again) == 1);
}

TEST_CASE("when the pool is exhausted there is no magazine, until one comes back") {
  LoneStore lone(16);
  std::vector<Magazine*> magazines;
  while (Magazine* magazine = lone.store.obtain(16)) magazines.push_back(magazine);
  CHECK(magazines.size() >= 300);
  CHECK(lone.store.obtain(1) == nullptr);
  CHECK(lone.store.obtain(17) == nullptr);
  lone.store.give_back(magazines.back());
  CHECK(lone.store.obtain(16) == magazines.back());
  // What small ones leave serves large ones.
  for (Magazine* magazine : magazines) lone.store.retire(magazine);
  CHECK(lone.store.obtain(256) != nullptr);
}

TEST_CASE("the store's low-water marks are kept by size") {
  LoneStore lone;
  lone.store.give_back(lone.store.obtain(16));
  lone.store.give_back(lone.store.obtain(64));
  for (unsigned n = 0; n < LowWater::kTicks; ++n) {
    CHECK(lone.store.empties(0).tick() == 0);
    CHECK(lone.store.empties(2).tick() == 0);
  }
  lone.store.give_back(lone.store.obtain(64));
  CHECK(lone.store.empties(0).tick() == 1);
  CHECK(lone.store.empties(2).tick() == 0);
}

TEST_CASE("a store that was frozen and thawed goes on as before") {
  LoneStore lone;
  Magazine* magazine = lone.store.obtain(16);
  lone.store.give_back(magazine);
  lone.store.freeze();
  lone.store.thaw();
  CHECK(lone.store.obtain(16) == magazine);
  CHECK(lone.store.obtain(16) != nullptr);
}
