// SPDX-License-Identifier: MIT
// A program under the hardened library.
#pragma once

#include <string>
#include <vector>

#include "tests/program.h"

inline Program hardened(std::vector<std::string> argv) {
  Program program(std::move(argv));
  program.with("LD_PRELOAD", build_path("libpktmalloc-hardened.so"));
  return program;
}
