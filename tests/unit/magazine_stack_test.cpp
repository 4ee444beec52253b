// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine_stack.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using pktmalloc::test::MagazineRack;

TEST_CASE("an empty stack has no magazine") {
  MagazineRack rack(1);
  MagazineStack stack;
  CHECK(stack.pop() == nullptr);
  CHECK(stack.depth() == 0);
  stack.push(rack[0]);
  CHECK(stack.pop() == rack[0]);
  CHECK(stack.pop() == nullptr);
}

TEST_CASE("magazines leave a stack in the reverse order, and it knows how many there are") {
  MagazineRack rack(10, 4);
  MagazineStack stack;
  for (unsigned n = 0; n < 10; ++n) {
    stack.push(rack[n]);
    CHECK(stack.depth() == n + 1);
  }
  for (unsigned n = 10; n-- > 0;) {
    CHECK(stack.pop() == rack[n]);
    CHECK(stack.depth() == n);
  }
}

TEST_CASE("a magazine may lie on many stacks, one after the other") {
  MagazineRack rack(3);
  MagazineStack one, other;
  for (unsigned n = 0; n < 3; ++n) one.push(rack[n]);
  while (Magazine* magazine = one.pop()) other.push(magazine);
  CHECK(one.depth() == 0);
  CHECK(other.depth() == 3);
  for (unsigned n = 0; n < 3; ++n) CHECK(other.pop() == rack[n]);
}

TEST_CASE("a stack reports the magazines that nobody took for a whole window") {
  MagazineRack rack(10);
  MagazineStack stack;
  for (unsigned n = 0; n < 10; ++n) stack.push(rack[n]);
  for (unsigned tick = 0; tick < LowWater::kTicks; ++tick) {
    CHECK(stack.tick() == 0);
    Magazine* taken[4];
    for (auto& magazine : taken) magazine = stack.pop();
    for (auto* magazine : taken) stack.push(magazine);
  }
  CHECK(stack.tick() == 6);
}

TEST_CASE("while a stack is frozen nobody pushes or pops") {
  MagazineRack rack(2);
  MagazineStack stack;
  stack.push(rack[0]);
  stack.freeze();
  std::atomic<int> done = 0;
  std::atomic<Magazine*> popped = nullptr;
  std::thread taker([&] {
    popped = stack.pop();
    ++done;
  });
  std::thread giver([&] {
    stack.push(rack[1]);
    ++done;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK(done == 0);
  CHECK(stack.depth() == 1);  // else what waits would seem gone to whoever looks now
  stack.thaw();
  taker.join();
  giver.join();
  CHECK(done == 2);
  CHECK(popped != nullptr);
  CHECK(stack.depth() == 1);
  CHECK(stack.pop() != popped);
}

TEST_CASE("a frozen empty stack is empty again when thawed") {
  MagazineRack rack(1);
  MagazineStack stack;
  stack.freeze();
  stack.thaw();
  CHECK(stack.pop() == nullptr);
  stack.push(rack[0]);
  stack.freeze();
  stack.thaw();
  CHECK(stack.depth() == 1);
  CHECK(stack.pop() == rack[0]);
}
