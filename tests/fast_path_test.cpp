// SPDX-License-Identifier: MIT
// The golden counts of malloc and free, for each processor.
#include <catch2/catch.hpp>

#include "tests/program.h"
#include "tests/skip.h"

TEST_CASE("malloc and free take as many instructions as before on this processor") {
  const Outcome outcome = Program({program_path("stepped")}).preloaded().run();
  INFO(outcome);
  if (outcome.status == 77) skip("no process may be traced here");
  CHECK(outcome.clean());
}

// Stepped through, so ticks come after a few dozen calls.
TEST_CASE("no call for a reserved class takes more than 20,000 instructions") {
  const Outcome outcome = Program({program_path("stepped"), "64"})
                              .preloaded()
                              .with("PKTMALLOC_RESERVE", "64:60000")
                              .with("PKTMALLOC_BACKGROUND", "1")
                              .with("PKTMALLOC_AGE", "40ms")
                              .run();
  INFO(outcome);
  if (outcome.status == 77) skip("no process may be traced here");
  CHECK(outcome.status == 0);
}
