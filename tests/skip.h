// SPDX-License-Identifier: MIT
// What this machine does not allow to be tried. tests/run.py names it with its reason, and counts a
// case that ended by skip() as skipped.
#pragma once

#include <catch2/catch.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "tests/program.h"

// A part of a case; the rest of it goes on.
inline void leave_out(const std::string& why) { std::cout << "left out: " << why << "\n"; }

// Ends the case as a failed REQUIRE does, but nothing has failed.
[[noreturn]] inline void skip(const std::string& why) {
  std::cout << "skipped: " << why << "\n";
  throw Catch::TestFailureException();
}

inline void skip_without(const std::vector<std::string>& programs) {
  for (const std::string& program : programs) {
    if (!installed(program)) skip(program + " is not installed");
  }
}

// For a case that tries several programs: those that are not installed it leaves out.
inline bool at_hand(const std::string& program) {
  if (!installed(program)) leave_out(program + " is not installed");
  return installed(program);
}
