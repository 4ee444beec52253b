// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_set.h"

#include <catch2/catch.hpp>

using pktmalloc::SlabSet;

namespace {

// The words lie three apart, as in the pool's chapters.
struct Set : SlabSet {
  Set() { use(words, 3 * sizeof(uint64_t)); }
  uint64_t words[3 * 32]{};
};

}  // namespace

TEST_CASE("an empty slab set has neither lowest nor highest") {
  Set set;
  CHECK(set.count() == 0);
  CHECK(set.lowest() == SlabSet::kNone);
  CHECK(set.highest() == SlabSet::kNone);
  set.insert(7);
  set.erase(7);
  CHECK(set.lowest() == SlabSet::kNone);
  CHECK(set.highest() == SlabSet::kNone);
}

TEST_CASE("lowest and highest cross words, in both directions") {
  Set set;
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
  Set set;
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

TEST_CASE("the highest one below a unit is found over the borders of words, or none") {
  Set set;
  CHECK(set.highest(1000) == SlabSet::kNone);
  for (const uint32_t unit : {5U, 63U, 64U, 300U}) set.insert(unit);
  CHECK(set.highest(2000) == 300);
  CHECK(set.highest(301) == 300);
  CHECK(set.highest(300) == 64);
  CHECK(set.highest(64) == 63);
  CHECK(set.highest(63) == 5);
  CHECK(set.highest(5) == SlabSet::kNone);
  CHECK(set.highest(0) == SlabSet::kNone);
  set.erase(5);
  set.erase(63);
  set.erase(300);
  CHECK(set.highest(2000) == 64);
  CHECK(set.highest(64) == SlabSet::kNone);
}
