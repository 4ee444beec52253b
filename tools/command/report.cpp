// SPDX-License-Identifier: MIT
// pktmalloc report FILE... [--html OUT]: statistics files as tables and as a page; or FILE with
// findings of the checked library, with source lines.
#include <climits>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/findings.h"
#include "tools/command/profile/flame_graph.h"
#include "tools/command/report/report_json.h"
#include "tools/command/report/report_page.h"
#include "tools/command/report/report_table.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string html, profile;
  bool json = false;
  int pid = 0;
};

// Of two files the order is the user's.
std::string table_of(std::vector<Reading> readings) {
  if (readings.size() == 1) return table_of(readings.front());
  if (readings.size() == 2) return table_of_change(readings.front(), readings.back());
  const std::vector<Series> all = series_of(std::move(readings));
  return all.size() == 1 ? table_of_series(all.front()) : table_of_processes(all);
}

// Files that are no statistics are left out, each with a line: a glob may catch some.
std::vector<Reading> read_all(const std::vector<std::string>& files,
                              std::vector<std::string>& left_out) {
  std::vector<Reading> readings;
  for (const std::string& file : files) {
    try {
      Reading r = read_statistics(file);
      r.program = printable(r.program);
      r.version = printable(r.version);
      readings.push_back(std::move(r));
    } catch (const Failure& failure) {
      if (files.size() == 1) throw;
      left_out.push_back(failure.what());
    }
  }
  if (!readings.empty()) return readings;
  throw Failure("none of these {} files has statistics; the first: {}", files.size(),
                left_out.front());
}

void report(const Options& options) {
  const bool alone = options.files.size() == 1 && options.html.empty() && !options.json;
  if (alone && print_findings(options.files[0])) return;
  std::vector<std::string> left_out;
  std::vector<Reading> readings = read_all(options.files, left_out);
  if (options.pid != 0) {
    std::erase_if(readings, [&](const Reading& r) { return r.pid != options.pid; });
  }
  if (readings.empty()) throw Failure("none of these files is of process {}", options.pid);
  for (const std::string& why : left_out) {
    tell("left out: " + why);
  }
  const std::unique_ptr<OutputFile> page = output_at(options.html);
  if (page) {
    page->write(
        page_of(series_of(readings),
                {options.profile.empty() ? "" : flame_graph_of({options.profile}), "", {}}));
  }
  if (!page || !page->is_stdout()) {
    fmt::print("{}", options.json ? json_of(series_of(std::move(readings)))
                                  : table_of(std::move(readings)));
  }
  if (!left_out.empty()) throw ExitStatus{1};
}

}  // namespace

void add_report(CommandLine& command) {
  const Subcommand sub =
      command.add_subcommand("report", "Statistics files as tables, and as a page of charts.");
  static Options options;
  sub.add_option("FILE", options.files,
                 "JSON files of statistics (PKTMALLOC_STATS=FILE.json); - is stdin")
      .required();
  sub.add_option("--html", options.html, "write a page of charts, too; - is stdout, if piped");
  sub.add_option("--profile", options.profile,
                 "this heap profile as a flame graph in the page, too")
      .needs("--html");
  sub.add_flag("--json", options.json, "print JSON: of each process each file, by place and class");
  sub.add_option("--pid", options.pid, "only the files of this process").range(1, INT_MAX);
  sub.footer(
      "One file: where the memory is, then the classes by committed bytes.\n"
      "Two files: what changed from the first to the second, the largest growth\n"
      "  first; they may be of different processes.\n"
      "More files of one process: a row for each, sorted by time, then what\n"
      "  changed from the first to the last.\n"
      "More files of several processes: a row for each process, as it was last,\n"
      "  and their sum; --pid N shows one of them over time.\n"
      "A file that is none of statistics is left out, with a line and exit status 1.\n"
      "What the checked library told on stderr, kept in a file: with source lines.\n"
      "Heap profiles: pktmalloc report profile FILE is pktmalloc profile FILE;\n"
      "  a file of statistics by the name of profile is ./profile here.\n\n"
      "Example:\n"
      "  PKTMALLOC_STATS=app.%n.json PKTMALLOC_STATS_INTERVAL=10s \\\n"
      "    pktmalloc run ./app\n"
      "  pktmalloc report app.*.json --html app.html");
  sub.callback([] { report(options); });
}

}  // namespace pktmalloc
