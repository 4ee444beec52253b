// SPDX-License-Identifier: MIT
// pktmalloc stat: statistics of a process or of a file, once; without either, the processes that
// have the library.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "preload/formats/format.h"
#include "tools/command/failure.h"
#include "tools/command/live/live.h"
#include "tools/command/live/process_table.h"
#include "tools/command/reading.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/process.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string what;
  bool json = false;
  bool prometheus = false;
};

void print_statistics(const Options& options) {
  Reading reading;
  uint64_t rss_bytes = 0;
  if (const pid_t pid = process_id(options.what); pid != 0) {
    const LiveProcess process(pid);
    reading = process.read();
    reading.snapshot.process.resident_bytes = process.resident_bytes();
    rss_bytes = process.rss_bytes();
  } else {
    reading = read_statistics(options.what);
  }
  const std::string program = options.json ? reading.program : printable(reading.program);
  const Origin origin{program.c_str(), reading.version.c_str(), reading.pid,
                      static_cast<uint64_t>(reading.time * 1e3 + 0.5), rss_bytes};
  char buffer[4096];
  Writer out(STDOUT_FILENO, buffer, sizeof buffer);
  if (options.json) {
    write_json(out, origin, reading.snapshot);
  } else if (options.prometheus) {
    write_prometheus(out, reading.snapshot);
  } else {
    write_text(out, origin, reading.snapshot);
  }
  if (out.finish()) return;
  end_if_unread(errno);
  throw Failure("cannot write: {}", strerror(errno));
}

void print_json(const ProcessTable& table) {
  using Json = nlohmann::ordered_json;
  Json processes = Json::array();
  for (const ProcessRow& row : table.rows) {
    processes.push_back({{"pid", row.pid},
                         {"program", row.program},
                         {"allocated_bytes", row.allocated_bytes},
                         {"cached_bytes", row.cached_bytes},
                         {"committed_bytes", row.committed_bytes},
                         {"rss_bytes", row.rss_bytes},
                         {"threads_alive", row.threads}});
  }
  const Json all = {{"processes", processes}};
  fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_processes(bool json) {
  const ProcessTable table = process_table();
  json ? print_json(table) : fmt::print("{}", table.text());
  flush_standard_output();
  for (const std::string& refusal : table.refusals) {
    tell(refusal);
  }
}

}  // namespace

void add_stat(CommandLine& command) {
  const Subcommand stat = command.add_subcommand(
      "stat", "Statistics of a running process or of a file, once; without either, of all.");
  static Options options;
  const Option what =
      stat.add_option("PID|FILE", options.what, "process id, or a JSON file of statistics");
  stat.add_flag("--json", options.json,
                "as the library writes to FILE.json; without PID, the list");
  stat.add_flag("--prom", options.prometheus, "as the library writes to FILE.prom")
      .excludes("--json");
  stat.footer(
      "The process is not stopped. Example:\n"
      "  pktmalloc stat $(pidof redis-server)\n"
      "  pktmalloc stat --json 1234 > a.json; sleep 60\n"
      "  pktmalloc stat --json 1234 > b.json\n"
      "  pktmalloc report a.json b.json");
  stat.callback([what] {
    if (what.is_given()) {
      print_statistics(options);
    } else if (options.prometheus) {
      throw Failure("stat --prom needs a process id or a file");
    } else {
      print_processes(options.json);
    }
  });
}

}  // namespace pktmalloc
