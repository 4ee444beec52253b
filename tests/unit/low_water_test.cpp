// SPDX-License-Identifier: MIT
#include "sizeclass/base/low_water.h"

#include <catch2/catch.hpp>

using pktmalloc::LowWater;

TEST_CASE("what lay unneeded for a whole window is reported until it is removed") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) CHECK(low.tick(10) == 0);
  CHECK(low.tick(10) == 10);
  low.remove(6);
  CHECK(low.tick(4) == 4);
  low.remove(4);
  CHECK(low.tick(0) == 0);
}

TEST_CASE("what was needed since it was reported is not reported again") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) low.tick(10);
  CHECK(low.tick(10) == 10);
  low.record(2);
  CHECK(low.tick(10) == 2);
}

TEST_CASE("a removal is no need: others needed as many of those that stay as before") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) {
    low.record(4);  // of ten, six are used each time
    low.tick(10);
  }
  CHECK(low.tick(10) == 4);
  low.remove(3);
  CHECK(low.tick(7) == 1);
  low.remove(1);
  CHECK(low.tick(6) == 0);
}

TEST_CASE("a dip inside the window lowers what is reported") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) low.tick(10);
  low.record(3);
  CHECK(low.tick(10) == 3);
  low.remove(3);
  for (unsigned i = 0; i + 1 < LowWater::kTicks; ++i) CHECK(low.tick(7) == 0);
  CHECK(low.tick(7) == 7);
}

TEST_CASE("a level that rises within the window is not reported before it stood a whole one") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) CHECK(low.tick(2) == 0);
  CHECK(low.tick(50) == 2);
  low.remove(2);
  for (unsigned i = 0; i + 1 < LowWater::kTicks; ++i) CHECK(low.tick(48) == 0);
  CHECK(low.tick(48) == 48);
}

TEST_CASE("nothing is reported of a level that touched zero") {
  LowWater low;
  for (unsigned i = 0; i < 20; ++i) {
    low.record(0);
    CHECK(low.tick(100) == 0);
  }
}

TEST_CASE("records above the low change nothing") {
  LowWater low;
  for (unsigned i = 0; i < LowWater::kTicks; ++i) low.tick(10);
  low.record(11);
  low.record(1000);
  CHECK(low.tick(10) == 10);
}
