// SPDX-License-Identifier: MIT
// pktmalloc leaks PID: what a running process can no longer reach.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/command/heap/leak_search.h"
#include "tools/command/subcommands.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string what;
  bool all = false;
  bool contents = false;
  bool json = false;
};

void print_leaks(const Options& options) {
  const Subject subject(options.what);
  const LeakSearch found(subject, options.contents, false);
  const LeakReport& report = found.report;
  if (!options.json) {
    fmt::print("{}; {}\n{}", head_text(subject, found.objects, found.bytes), found.look.text(),
               report.text(options.all ? SIZE_MAX : 20));
    return;
  }
  const nlohmann::ordered_json all = {{"pid", subject.pid()},
                                      {"program", subject.window().program},
                                      {"exact", found.look.exact()},
                                      {"stopped_ms", found.look.milliseconds},
                                      {"objects", found.objects},
                                      {"bytes", found.bytes},
                                      {"lost_objects", report.objects()},
                                      {"lost_bytes", report.bytes()},
                                      {"guarded_objects", report.guarded_objects},
                                      {"lost", report.json()}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_leaks(CommandLine& command) {
  const Subcommand leaks = command.add_subcommand(
      "leaks", "What a running process, or a core file, can no longer reach, by size and type.");
  static Options options;
  leaks.add_option("PID|CORE", options.what, "process id, or a core file").required();
  leaks.add_flag("--all", options.all, "all rows, not the first 20");
  leaks.add_flag("--contents", options.contents,
                 "the first bytes of an example, if they are a text; may be secret");
  leaks.add_flag("--json", options.json, "all rows as JSON");
  leaks.footer(
      "An object is lost when no word in registers, stacks, variables or other objects is an\n"
      "address in it. Example:\n"
      "  pktmalloc leaks $(pidof app)");
  leaks.callback([] { print_leaks(options); });
}

}  // namespace pktmalloc
