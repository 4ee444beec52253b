// SPDX-License-Identifier: MIT
// Real programs say and do the same with the library as without: those of tools/soak/programs.py,
// once each.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/program.h"

namespace {

void check_same(const std::vector<std::string>& options) {
  std::vector<std::string> command = {"/usr/bin/python3", "tools/soak/soak.py", "--minutes", "0",
                                      library_path()};
  command.insert(command.end(), options.begin(), options.end());
  const Outcome outcome = Program(command).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
}

}  // namespace

TEST_CASE("real programs and a server say and do the same with the library") {
  check_same({"--short"});
}

TEST_CASE("compilers write identical object files", "[.long]") { check_same({"--only", "gcc"}); }
