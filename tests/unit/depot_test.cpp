// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/depot.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <algorithm>

#include "tests/unit/magazine_rack.h"
#include "tests/unit/waiting_magazines.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("a magazine given to the depot is the next one taken") {
  MagazineRack rack(3);
  Depot depot;
  const ClassId id{5};
  CHECK(take_any(depot, id) == nullptr);
  depot.give(id, rack[0]);
  depot.give(id, rack[1]);
  CHECK(take_any(depot, id) == rack[1]);
  depot.give(id, rack[2]);
  CHECK(take_any(depot, id) == rack[2]);
  CHECK(take_any(depot, id) == rack[0]);
  CHECK(take_any(depot, id) == nullptr);
}

TEST_CASE("a class never gets a magazine of another") {
  MagazineRack rack(kMaxClasses);
  Depot depot;
  for (unsigned i = 0; i < kMaxClasses; ++i) depot.give(ClassId(i), rack[i]);
  for (unsigned i = kMaxClasses; i-- > 0;) {
    CHECK(depth(depot, ClassId(i)) == 1);
    CHECK(take_any(depot, ClassId(i)) == rack[i]);
    CHECK(take_any(depot, ClassId(i)) == nullptr);
  }
}

TEST_CASE("what a magazine holds is not touched by the exchange") {
  MagazineRack rack(1);
  Depot depot;
  rack[0]->objects()[0] = 0x1000;
  rack[0]->rounds = 1;
  depot.give(ClassId{0}, rack[0]);
  Magazine* taken = take_any(depot, ClassId{0});
  REQUIRE(taken == rack[0]);
  CHECK(taken->rounds == 1);
  CHECK(taken->objects()[0] == 0x1000);
  CHECK(taken->capacity == rounds_of_size(0));
}

TEST_CASE("a depot's low-water marks are kept by class") {
  MagazineRack rack(4);
  Depot depot;
  for (unsigned n = 0; n < 4; ++n) depot.give(ClassId(n / 2), rack[n]);
  for (unsigned tick = 0; tick < LowWater::kTicks; ++tick) {
    depot.tick(ClassId{0});
    depot.tick(ClassId{1});
  }
  depot.give(ClassId{1}, take_any(depot, ClassId{1}));
  CHECK(depot.tick(ClassId{0}) == 2);
  CHECK(depot.tick(ClassId{1}) == 1);
}

TEST_CASE("a thawed depot holds what it held when it froze") {
  MagazineRack rack(2);
  Depot depot;
  depot.give(ClassId{0}, rack[0]);
  depot.give(ClassId{9}, rack[1]);
  depot.freeze();
  depot.thaw();
  CHECK(take_any(depot, ClassId{0}) == rack[0]);
  CHECK(take_any(depot, ClassId{9}) == rack[1]);
}

TEST_CASE("who counts touches no memory of classes in which nothing waits") {
  // All zero, as the heap's own.
  void* const memory =
      mmap(nullptr, sizeof(Depot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const Depot& depot = *static_cast<Depot*>(memory);
  for (unsigned i = 0; i < kMaxClasses; ++i) CHECK(depot.objects(ClassId(i)) == 0);
  unsigned char resident[sizeof(Depot) / 4096 + 1] = {};
  REQUIRE(mincore(memory, sizeof(Depot), resident) == 0);
  CHECK(std::count(std::begin(resident), std::end(resident), 1) == 1);
  munmap(memory, sizeof(Depot));
}
