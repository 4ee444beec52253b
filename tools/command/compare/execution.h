// SPDX-License-Identifier: MIT
// Execution: one run of the user's command, and what it used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pktmalloc {

struct Execution {
  double wall_ms = 0;
  double cpu_ms = 0;      // user and system; as the others of the command and those it waited for
  double peak_bytes = 0;  // that any one process had in memory
  double faults = 0;      // minor and major
  int status = 0;         // of waitpid
  uint64_t output = 0;    // hash of what it wrote to stdout

  bool succeeded() const { return status == 0; }
  // "exit status 3", "killed by SIGSEGV"
  std::string failure() const;
};

// Runs it with `library` in front of what LD_PRELOAD names already; "" leaves that alone. stdin is
// /dev/null; `show` sends both streams to stderr, else they are discarded. In a session of its own,
// so that all of it can be ended when we are. Throws Failure when it cannot be started.
Execution execute(const std::vector<std::string>& words, const std::string& library, bool show);

// From now on SIGINT, SIGTERM and SIGHUP end the run that is under way, and no more.
void expect_interruption();
bool is_interrupted();

// What the loader says of the library in front of this command itself; "" when nothing.
std::string objection_to(const std::string& library);

}  // namespace pktmalloc
