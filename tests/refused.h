// SPDX-License-Identifier: MIT
// What the command says when something cannot be done, and the words of its output.
#pragma once

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

// One whole line, from us, that holds the part; nothing else was said, nothing was started.
inline void check_refused(const Outcome& outcome, const std::string& part) {
  INFO(outcome);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.rfind("pktmalloc: ", 0) == 0);
  CHECK(lines(outcome.err).size() == 1);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK(has(outcome.err, part));
}
