// SPDX-License-Identifier: MIT
#include "tests/model/shrink.h"

#include <catch2/catch.hpp>

using namespace pktmalloc::test;

TEST_CASE("a failing list shrinks to what makes it fail") {
  std::vector<uint8_t> list(5000, 200);
  list[77] = 7;
  list[4000] = 9;
  const auto fails = [](const std::vector<uint8_t>& candidate) {
    const auto seven = std::find(candidate.begin(), candidate.end(), 7);
    return std::find(seven, candidate.end(), 9) != candidate.end();
  };
  CHECK(shrink(list, fails) == std::vector<uint8_t>{7, 9});
}

TEST_CASE("numbers become small, and what cannot be shrunk stays") {
  const auto more_than_40 = [](const Draws& draws) { return !draws.empty() && draws[0] > 40; };
  CHECK(shrink(Draws{123456789012345}, more_than_40) == Draws{123456789012345 % 4096});
  CHECK(shrink(Draws{41}, more_than_40) == Draws{41});
}

TEST_CASE("a failure tells its seed, what was wrong and the shortest draws") {
  const auto run = [](Random& random) -> const char* {
    while (!random.over()) {
      if (random.below(10) == 3) return "a three";
    }
    return nullptr;
  };
  CHECK(first_failure(1, run) == "a three, seed 1, shrunk to 1 numbers: 3");
  CHECK(first_failure(3, [](Random&) -> const char* { return nullptr; }).empty());
}

TEST_CASE("draws written down give the same run again") {
  Random random(5), again(5);
  Draws first, second;
  for (unsigned n = 0; n < 100; ++n) first.push_back(random.mostly_small(1000));
  Random replayed(random.draws());
  for (unsigned n = 0; n < 100; ++n) second.push_back(replayed.mostly_small(1000));
  CHECK(first == second);
  CHECK(replayed.over());
  CHECK(!again.over());
}
