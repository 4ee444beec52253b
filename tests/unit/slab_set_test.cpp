// SPDX-License-Identifier: MIT
#include "sizeclass/slab_set.h"

#include <catch2/catch.hpp>

using pktmalloc::SlabSet;

TEST_CASE("an empty slab set has neither lowest nor highest") {
  SlabSet set;
  CHECK(set.count() == 0);
  CHECK(set.lowest() == SlabSet::kNone);
  CHECK(set.highest() == SlabSet::kNone);
  set.insert(7);
  set.erase(7);
  CHECK(set.lowest() == SlabSet::kNone);
  CHECK(set.highest() == SlabSet::kNone);
}

TEST_CASE("the first 64 slabs need no further memory") {
  SlabSet set;  // use() was not called: a touch of the rest would fault
  for (uint32_t slab = 0; slab < SlabSet::kInlineSlabs; ++slab) set.insert(slab);
  CHECK(set.count() == 64);
  CHECK(set.lowest() == 0);
  CHECK(set.highest() == 63);
  for (uint32_t slab = 0; slab < SlabSet::kInlineSlabs; ++slab) {
    CHECK(set.lowest() == slab);
    CHECK(set.contains(slab));
    set.erase(slab);
    CHECK_FALSE(set.contains(slab));
  }
}

TEST_CASE("lowest and highest cross words, in both directions") {
  pktmalloc::Owned<uint64_t> rest[16]{};
  SlabSet set;
  set.use(rest, 1);
  for (const uint32_t slab : {500U, 64U, 63U, 1000U, 0U, 129U}) set.insert(slab);
  CHECK(set.count() == 6);
  for (const uint32_t slab : {0U, 63U, 64U, 129U}) {
    CHECK(set.lowest() == slab);
    set.erase(slab);
  }
  CHECK(set.highest() == 1000);
  set.erase(1000);
  CHECK(set.highest() == 500);
  CHECK(set.lowest() == 500);
}

TEST_CASE("a slab inserted below or above the hints is found") {
  pktmalloc::Owned<uint64_t> rest[16]{};
  SlabSet set;
  set.use(rest, 1);
  set.insert(300);
  CHECK(set.lowest() == 300);
  set.insert(70);
  CHECK(set.lowest() == 70);
  set.insert(900);
  CHECK(set.highest() == 900);
  set.erase(70);
  set.erase(900);
  CHECK(set.lowest() == 300);
  CHECK(set.highest() == 300);
  set.erase(300);
  set.insert(5);
  CHECK(set.lowest() == 5);
  CHECK(set.highest() == 5);
}
