// SPDX-License-Identifier: MIT
// A program under the checked library.
#pragma once

#include <string>
#include <vector>

#include "tests/program.h"

inline Program checked(std::vector<std::string> argv) {
  Program program(std::move(argv));
  program.with("LD_PRELOAD", build_path("libpktmalloc-checked.so"));
  return program;
}
