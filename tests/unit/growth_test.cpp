// SPDX-License-Identifier: MIT
#include "sizeclass/growth.h"

#include <catch2/catch.hpp>

using pktmalloc::Growth;

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kNow = 1'000'000;  // ms since some start: the budget is full

constexpr uint64_t kHeld = uint64_t{1} << 40;  // so much that nothing is too much

struct Started : Growth {
  explicit Started(uint64_t interval_ms = 1000) { start(interval_ms); }
};

}  // namespace

TEST_CASE("a tick by growth is over when a sixteenth of what waits was opened") {
  Started growth;
  CHECK_FALSE(growth.due(160 * kMiB));
  growth.opened(10 * kMiB - 1);
  CHECK_FALSE(growth.due(160 * kMiB));
  growth.opened(1);
  CHECK(growth.due(160 * kMiB));
  CHECK(growth.tick(kNow, kHeld));
  CHECK_FALSE(growth.due(160 * kMiB));
}

TEST_CASE("slabs that were purged are not open until they are opened again") {
  Started growth;
  growth.opened(3 * kMiB);
  growth.purged(2 * kMiB);
  CHECK(growth.open_bytes() == kMiB);
  growth.opened_again(kMiB);
  CHECK(growth.open_bytes() == 2 * kMiB);
}

TEST_CASE("small growth ends no tick, and where little waits only much does") {
  Started growth;
  growth.opened(512 * kKiB - 1);
  CHECK_FALSE(growth.due(2 * kMiB));
  growth.opened(1);
  CHECK(growth.due(2 * kMiB));
  CHECK_FALSE(growth.due(0));
  growth.opened(4 * kMiB);
  CHECK(growth.due(0));
}

TEST_CASE("a long ageing interval makes ticks by growth longer, a short one changes nothing") {
  Started patient(60'000);
  patient.opened(59 * kMiB);
  CHECK_FALSE(patient.due(16 * kMiB));
  patient.opened(kMiB);
  CHECK(patient.due(16 * kMiB));

  Started hasty(4);
  hasty.opened(kMiB - 1);
  CHECK_FALSE(hasty.due(16 * kMiB));
}

TEST_CASE("memory that is opened for the first time costs nothing") {
  Started growth;
  for (unsigned n = 0; n < 1000; ++n) {
    growth.opened(kMiB);
    CHECK(growth.tick(kNow, kHeld));
  }
}

TEST_CASE("what is opened again uses the budget up, which time renews") {
  Started growth;
  growth.opened_again(127 * kMiB);
  CHECK(growth.tick(kNow, kHeld));
  growth.opened_again(2 * kMiB);
  CHECK_FALSE(growth.tick(kNow, kHeld));
  CHECK_FALSE(growth.tick(kNow + 20, kHeld));
  CHECK(growth.tick(kNow + 50, kHeld));
}

TEST_CASE("after a great relapse the budget is back in seconds") {
  Started growth;
  growth.opened_again(100 * 1024 * kMiB);
  CHECK_FALSE(growth.tick(kNow, kHeld));
  CHECK_FALSE(growth.tick(kNow + 3100, kHeld));
  CHECK(growth.tick(kNow + 3300, kHeld));
}

TEST_CASE("long rest saves no more than a burst's worth") {
  Started growth;
  CHECK(growth.tick(kNow, kHeld));
  CHECK(growth.tick(1000 * kNow, kHeld));
  growth.opened_again(129 * kMiB);
  CHECK_FALSE(growth.tick(1000 * kNow, kHeld));
}

TEST_CASE("a caller that comes with an earlier time earns nothing") {
  Started growth;
  growth.opened_again(129 * kMiB);
  CHECK_FALSE(growth.tick(kNow, kHeld));
  CHECK_FALSE(growth.tick(kNow - 1000, kHeld));
  CHECK_FALSE(growth.tick(kNow, kHeld));
}

TEST_CASE("objects that leave the depot are paid at once") {
  Started growth;
  CHECK(growth.tick(kNow, kHeld));
  growth.spend_objects(7 * kMiB);
  CHECK(growth.tick(kNow, kHeld));
  growth.spend_objects(2 * kMiB);
  CHECK_FALSE(growth.tick(kNow, kHeld));
}

TEST_CASE("a long time is paid in full, what was opened again is not beyond a limit") {
  Started growth;
  CHECK(growth.tick(kNow, kHeld));
  growth.spend_us(1'000'000);  // 340 s
  growth.opened_again(100 * 1024 * kMiB);
  CHECK_FALSE(growth.tick(kNow + 300'000, kHeld));
  CHECK(growth.tick(kNow + 360'000, kHeld));
}

TEST_CASE("memory known by the time it took is paid like what is opened again") {
  Started growth;
  CHECK(growth.tick(kNow, kHeld));
  growth.spend_us(9300);
  CHECK(growth.tick(kNow, kHeld));
  growth.spend_us(100);
  CHECK_FALSE(growth.tick(kNow, kHeld));
}

TEST_CASE("slabs of twice the size of what ever lived make room without a budget") {
  Started growth;
  growth.opened(200 * kMiB);
  CHECK(growth.tick(kNow, 100 * kMiB));
  growth.spend_objects(uint64_t{1} << 32);
  growth.opened(kMiB);
  CHECK(growth.tick(kNow, 20 * kMiB));  // 201 MiB
  // And more often.
  growth.opened(4 * kMiB);
  CHECK(growth.due(256 * kMiB));
  growth.purged(10 * kMiB);
  CHECK_FALSE(growth.tick(kNow, 20 * kMiB));
  growth.opened(4 * kMiB);
  CHECK_FALSE(growth.due(256 * kMiB));
}

TEST_CASE("of a small heap nothing is too much") {
  Started growth;
  growth.spend_objects(uint64_t{1} << 32);
  growth.opened(4 * kMiB);
  CHECK_FALSE(growth.tick(kNow, 0));
}
