// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine_stack.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/idle.h"
#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("a magazine pushed at home is popped at home, the newest first") {
  MagazineRack rack(4);
  ShardedStack stack;
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
  for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
    for (unsigned n = 0; n < ShardedStack::kShards; ++n) stack.push(rack[n], n);
    CHECK(stack.pop(home) == rack[home]);
    for (unsigned n = 1; n < ShardedStack::kShards; ++n) CHECK(stack.pop(home) != nullptr);
    CHECK(stack.pop(home) == nullptr);
    CHECK(stack.depth() == 0);
  }
}

TEST_CASE("of others, the neighbours in pairs and fours are asked first") {
  for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
    MagazineRack rack(ShardedStack::kShards);
    ShardedStack stack;
    for (unsigned n = 0; n < ShardedStack::kShards; ++n) {
      if (n != home) stack.push(rack[n], n);
    }
    std::vector<unsigned> order;
    while (Magazine* magazine = stack.pop(home)) order.push_back(rack.number_of(magazine));
    REQUIRE(order.size() == ShardedStack::kShards - 1);
    CHECK(order[0] / 2 == home / 2);
    for (unsigned n = 0; n < 3; ++n) CHECK(order[n] / 4 == home / 4);
  }
}

TEST_CASE("what nobody needed anywhere is told in one sum") {
  MagazineRack rack(5);
  ShardedStack stack;
  for (unsigned n = 0; n < 5; ++n) stack.push(rack[n], n % 2);
  for (unsigned tick = 0; tick < LowWater::kTicks; ++tick) CHECK(stack.tick() == 0);
  stack.push(stack.pop(0), 0);
  CHECK(stack.tick() == 4);  // two of three at home 0, both at home 1
}

TEST_CASE("what nobody needed is popped where it lay, and no more of it") {
  MagazineRack rack(8);
  ShardedStack stack;
  for (unsigned n = 0; n < 4; ++n) stack.push(rack[n], 0);
  for (unsigned n = 4; n < 8; ++n) stack.push(rack[n], 5);
  const auto use_three = [&] {
    Magazine* used[3];
    for (auto& magazine : used) magazine = stack.pop(0);
    for (auto* magazine : used) stack.push(magazine, 0);
  };
  for (unsigned tick = 0; tick <= LowWater::kTicks; ++tick) {
    CHECK(stack.pop_idle() == nullptr);
    use_three();
    CHECK(stack.tick() == (tick < LowWater::kTicks ? 0 : 5));
  }
  for (unsigned n = 0; n < 5; ++n) CHECK(stack.pop_idle() != nullptr);
  CHECK(stack.pop_idle() == nullptr);
  CHECK(stack.depth(0) == 3);
  CHECK(stack.depth(5) == 0);
  use_three();
  CHECK(stack.tick() == 0);
}

TEST_CASE("what lay idle and is needed before it is popped is no longer idle") {
  MagazineRack rack(4);
  ShardedStack stack;
  for (unsigned n = 0; n < 4; ++n) stack.push(rack[n], 0);
  for (unsigned tick = 0; tick < LowWater::kTicks; ++tick) stack.tick();
  CHECK(stack.tick() == 4);
  Magazine* const used[] = {stack.pop(0), stack.pop(0), stack.pop(0)};
  for (auto* magazine : used) stack.push(magazine, 0);
  CHECK(stack.pop_idle() != nullptr);
  CHECK(stack.pop_idle() == nullptr);
}

TEST_CASE("all that is there can be made idle, and what others take of it is theirs") {
  MagazineRack rack(3);
  ShardedStack stack;
  for (unsigned n = 0; n < 3; ++n) stack.push(rack[n], n);
  CHECK(make_idle(stack) == 3);
  CHECK(stack.pop(1) == rack[1]);
  CHECK(stack.pop_idle() == rack[0]);
  stack.push(rack[0], 0);
  CHECK(stack.pop_idle() == rack[2]);
  CHECK(stack.pop_idle() == nullptr);
  CHECK(stack.depth() == 1);
}
