// SPDX-License-Identifier: MIT
#include "sizeclass/heap/ageing.h"

#include <catch2/catch.hpp>

using pktmalloc::Growth;

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace

TEST_CASE("a tick by growth is over when a 256th of what waits was taken") {
  Growth growth;
  CHECK_FALSE(growth.due(10 * kMiB - 1, 2560 * kMiB));
  CHECK(growth.due(10 * kMiB, 2560 * kMiB));
  CHECK(growth.tick(10 * kMiB, 2 * kMiB));
  CHECK_FALSE(growth.due(20 * kMiB - 1, 2560 * kMiB));
  CHECK(growth.due(20 * kMiB, 2560 * kMiB));
  CHECK_FALSE(growth.tick(20 * kMiB, 4 * kMiB - 1));  // most of it was used before
  CHECK(growth.tick(30 * kMiB, 4 * kMiB));
}

TEST_CASE("small growth ends no tick, and where little waits only much does") {
  const Growth growth;
  CHECK_FALSE(growth.due(256 * kKiB - 1, 2 * kMiB));
  CHECK(growth.due(256 * kKiB, 2 * kMiB));
  CHECK_FALSE(growth.due(kMiB - 1, 0));
  CHECK(growth.due(kMiB, 0));
}
