// SPDX-License-Identifier: MIT
// The benchmark harness, started as users do, and what its tests say of it.
//
// Where the workload does not matter, it is a shell script that tells what the test wants to hear.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"

using Words = std::vector<std::string>;

inline const std::string kPython = "/usr/bin/python3";  // as in tools/bench/bench.mk
inline const std::string kRow = "W5 unique_ptr 16 B";   // a cheap one, with contenders

// A build folder with a script as the program of kRow. The script is told by BENCH_LIBRARY under
// which library it runs.
class ScriptedBuild : public TemporaryFolder {
 public:
  explicit ScriptedBuild(const std::string& script) {
    std::filesystem::create_directory(*this / "bench");
    std::filesystem::create_symlink(build_path("bench/measure"), *this / "bench/measure");
    link_library("bench/libempty.so");  // no shell works with the empty functions
    link_library("libpktmalloc.so");
    write("bench/w5_ring", "#!/bin/sh\n" + script);
    std::filesystem::permissions(*this / "bench/w5_ring", std::filesystem::perms::owner_all);
  }

  void link_library(const std::string& name) const {
    std::filesystem::create_symlink(library_path(), *this / name);
  }
};

// Of what is said twice the last holds, so `options` may change the rest.
inline Words bench_words(const std::string& build, const std::string& record,
                         const Words& options) {
  Words words = {kPython,    "tools/bench/bench.py",
                 "--suite",  "quick",
                 "--only",   kRow,
                 "--rounds", "1",
                 "--scale",  "0.01",
                 "--build",  build,
                 "--json",   record};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

inline Outcome bench(const std::string& build, const std::string& record,
                     const Words& options = {}) {
  return Program(bench_words(build, record, options)).run();
}

// Runs a check in Python; it says nothing if all is well.
inline Outcome python(const std::string& script, const Words& arguments = {}) {
  Words words = {kPython, "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Program(words).run();
}

inline void check_python(const std::string& script, const Words& arguments = {}) {
  const Outcome outcome = python(script, arguments);
  INFO(outcome);
  CHECK(outcome.clean());
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
