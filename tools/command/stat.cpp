// SPDX-License-Identifier: MIT
// pktmalloc stat FILE: statistics as a table, once.
#include "tools/command/failure.h"
#include "tools/command/reading.h"
#include "tools/command/subcommands.h"

namespace pktmalloc {

void add_stat(CLI::App& command) {
  CLI::App* const stat = command.add_subcommand("stat", "Statistics of a process or file, once.");
  static std::string what;
  stat->add_option("PID|FILE", what, "process id, or a JSON file of statistics")->required();
  stat->callback([] {
    const Reading r = read_statistics(what);
    fmt::print("{} {}: {} bytes live\n", r.program, r.pid, r.snapshot.process.allocated_bytes);
  });
}

}  // namespace pktmalloc
