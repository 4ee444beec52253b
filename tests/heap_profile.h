// SPDX-License-Identifier: MIT
// Heap profiles for tests: programs that write one, and the bytes that the command reads in it.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"

using Bytes = std::map<std::string, double>;  // by function

inline Program profiled(const std::vector<std::string>& argv, const std::string& file,
                        const std::string& rate = "1") {
  return Program(argv)
      .preloaded()
      .with("PKTMALLOC_PROFILE", file)
      .with("PKTMALLOC_PROFILE_RATE", rate);
}

// By functions alone: to ask for lines takes longer than most programs run.
inline Outcome command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "profile", "--no-lines"});
  return Program(arguments).run();
}

// The bytes of each of the named functions, wherever in a stack it is; `view` chooses which.
inline Bytes bytes_of(const std::string& file, const std::vector<std::string>& functions,
                      const std::string& view = "--live") {
  const Outcome outcome = command({"--collapsed", view, file});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  Bytes bytes;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    const std::string stack = ";" + line.substr(0, space) + ";";
    for (const std::string& function : functions) {
      if (stack.find(";" + function + ";") != std::string::npos) {
        bytes[function] += std::stod(line.substr(space));
      }
    }
  }
  return bytes;
}
