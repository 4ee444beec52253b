// SPDX-License-Identifier: MIT
#include "sizeclass/sharded_stack.h"

#include <catch2/catch.hpp>

#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using pktmalloc::test::MagazineRack;

TEST_CASE("a magazine pushed at home is popped at home, the newest first") {
  MagazineRack rack(4);
  ShardedStack stack;
  stack.start(rack.base());
  stack.push(rack[0], 3);
  stack.push(rack[1], 5);
  stack.push(rack[2], 3);
  CHECK(stack.depth() == 3);
  CHECK(stack.pop(3) == rack[2]);
  CHECK(stack.pop(5) == rack[1]);
  CHECK(stack.pop(3) == rack[0]);
  CHECK(stack.pop(3) == nullptr);
}

TEST_CASE("whoever finds nothing at home takes from any other") {
  MagazineRack rack(ShardedStack::kShards);
  ShardedStack stack;
  stack.start(rack.base());
  for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
    for (unsigned n = 0; n < ShardedStack::kShards; ++n) stack.push(rack[n], n);
    CHECK(stack.pop(home) == rack[home]);
    for (unsigned n = 1; n < ShardedStack::kShards; ++n) CHECK(stack.pop(home) != nullptr);
    CHECK(stack.pop(home) == nullptr);
    CHECK(stack.depth() == 0);
  }
}

TEST_CASE("what nobody needed anywhere is told in one sum") {
  MagazineRack rack(5);
  ShardedStack stack;
  stack.start(rack.base());
  for (unsigned n = 0; n < 5; ++n) stack.push(rack[n], n % 2);
  for (unsigned tick = 0; tick < LowWater::kTicks; ++tick) CHECK(stack.tick() == 0);
  stack.push(stack.pop(0), 0);
  CHECK(stack.tick() == 4);  // two of three at home 0, both at home 1
}
