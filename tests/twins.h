// SPDX-License-Identifier: MIT
// Twins: the checked and the hardened library, and what has to hold for both.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/correct_commands.h"
#include "tests/program.h"
#include "tests/skip.h"

inline Program preloaded_with(const std::string& library, std::vector<std::string> argv) {
  Program program(std::move(argv));
  program.with("LD_PRELOAD", build_path(library));
  return program;
}

inline Program checked(std::vector<std::string> argv) {
  return preloaded_with("libpktmalloc-checked.so", std::move(argv));
}

inline Program hardened(std::vector<std::string> argv) {
  return preloaded_with("libpktmalloc-hardened.so", std::move(argv));
}

using Twin = Program (*)(std::vector<std::string>);

// Correct programs run as without the library, whatever this option is set to.
inline void check_correct_commands(Twin twin, const std::string& option,
                                   const std::vector<std::string>& values) {
  for (const auto& command : correct_commands()) {
    if (!at_hand(command[0])) continue;
    const Outcome alone = Program(command).with("PYTHONMALLOC", "malloc").run();
    for (const std::string& value : values) {
      const Outcome outcome =
          twin(command).with("PYTHONMALLOC", "malloc").with(option, value).run();
      INFO(command[0] << ", " << option << "=" << value << ": " << outcome);
      CHECK(outcome.status == alone.status);
      CHECK(outcome.out == alone.out);
      CHECK(outcome.err == alone.err);
    }
  }
}

// The programs of tests/programs, which look for themselves whether all is right, but for those of
// which the twin must change the subject.
inline void check_programs(Twin twin, const std::string& option, const std::string& value,
                           const std::set<std::string>& exceptions) {
  for (const auto& file : std::filesystem::directory_iterator("tests/programs")) {
    const std::string name = file.path().stem();
    if (file.path().extension() == ".h" || exceptions.count(name) > 0) continue;
    const bool background = name.find("background") != std::string::npos;
    const Outcome outcome =
        twin({program_path(name)})
            .with(option, value)
            .with("PKTMALLOC_BACKGROUND", background ? "1" : "auto")
            .with("PKTMALLOC_AGE", name.find("fork_while_the_b") == 0 ? "20ms" : "1s")
            .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

// The exports of the normal library and those that see copies, and no need but libc.
inline void check_interface(const std::string& library) {
  const auto told_by = [](const std::string& command, const std::string& of) {
    return Program({"sh", "-c", command, "sh", build_path(of)}).run().out;
  };
  const std::string exports = "nm -D --defined-only --format=posix $1 | cut -d' ' -f1";
  CHECK(told_by(exports, library).find("malloc") != std::string::npos);
  const std::string others = exports + " | grep -vx 'mem[a-z]*[ye]'";
  CHECK(told_by(others, library) == told_by(exports, "libpktmalloc.so"));
  CHECK(told_by(exports + " | grep -x 'mem[a-z]*[ye]'", library) == "memcpy\nmemmove\n");
  const std::string needed = "readelf -d $1 | grep -c NEEDED; readelf -d $1 | grep -c libc.so.6";
  CHECK(told_by(needed, library) == "1\n1\n");
}
