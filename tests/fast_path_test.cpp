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
