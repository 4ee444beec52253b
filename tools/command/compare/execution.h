// SPDX-License-Identifier: MIT
// Execution: one run of the user's command, and what it used.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pktmalloc {

struct Execution {
  double wall_ms = 0;
  double cpu_ms = 0;      // user and system; as the others of the command and those it waited for
  double peak_bytes = 0;  // that any one process had in memory
  double faults = 0;      // minor and major
  std::string failure;    // "exit status 3", "killed by SIGSEGV"; "": it succeeded
  uint64_t output = 0;    // hash of what it wrote to stdout

  bool succeeded() const { return failure.empty(); }
  void use(const rusage& usage);
};

// Runs it with `library` in front of what LD_PRELOAD names already; "" leaves that alone. stdin is
// /dev/null; `show` sends both streams to stderr, else they are discarded. Throws Failure when it
// cannot be started.
Execution execute(const std::vector<std::string>& words, const std::string& library, bool show);

// What the loader says of the library in front of this command itself; "" when nothing.
std::string objection_to(const std::string& library);

}  // namespace pktmalloc
