// SPDX-License-Identifier: MIT
#include "sizeclass/low_water.h"

#include <catch2/catch.hpp>

using pktmalloc::LowWater;

TEST_CASE("what lay unneeded for a whole window is reported once") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) CHECK(low.tick(10) == 0);
  CHECK(low.tick(10) == 10);
  CHECK(low.tick(0) == 0);
}

TEST_CASE("a dip inside the window lowers what is reported") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) low.tick(10);
  low.record(3);
  CHECK(low.tick(10) == 3);
  for (unsigned i = 0; i + 1 < LowWater::kTicks; ++i) CHECK(low.tick(7) == 0);
  CHECK(low.tick(7) == 7);
}
