// SPDX-License-Identifier: MIT
// Rounds: runs the command under all contenders, in turn and in shuffled order, and fills their
// figures.
#pragma once

#include <string>

#include "tools/command/compare/comparison.h"
#include "tools/command/compare/service.h"

namespace pktmalloc {

inline constexpr const char* kClasses = "PKTMALLOC_CLASSES";

struct Procedure {
  int warmup = 0;       // runs under each that do not count
  std::string prepare;  // a command of the shell before each run; "": nothing
  Service service;      // if the command is a server
  bool show = false;
};

// Throws Failure when the command fails as it is, or the preparation does.
void run_rounds(Comparison& comparison, const Procedure& procedure);

}  // namespace pktmalloc
