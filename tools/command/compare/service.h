// SPDX-License-Identifier: MIT
// Service: one run of a server: it is started, waited for until it is ready, put under load, and
// stopped. What is timed is the load; CPU, memory and faults are the server's, of all its life.
#pragma once

#include <string>
#include <vector>

#include "tools/command/compare/execution.h"

namespace pktmalloc {

struct Service {
  std::string ready;  // a command of the shell that succeeds, or a port that is listened to
  std::string load;   // a command of the shell; "": the command is no server
  std::string stop;   // a command of the shell; "": SIGTERM

  bool is_wanted() const { return !load.empty(); }
  // No command is a number alone.
  bool names_port() const {
    return !ready.empty() && ready.find_first_not_of("0123456789") == std::string::npos;
  }
};

// As execute(). Nothing of the allocator reaches ready, load and stop.
Execution execute(const Service& service, const std::vector<std::string>& words,
                  const std::string& library, bool show);

// What precedes a run and is not timed. Throws Failure when it fails.
void prepare(const std::string& command, bool show);

}  // namespace pktmalloc
