// SPDX-License-Identifier: MIT
// pktmalloc objects PID: what lives in a running process, by class and by type.
#include <thread>

#include "tools/command/failure.h"
#include "tools/command/heap/inventory.h"
#include "tools/command/heap/leak_search.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_output.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string what;
  bool running = false;
  double pause_ms = 5;
  double diff_seconds = 0;
  std::string sort;
  bool all = false;
  bool contents = false;
  bool json = false;
};

Inventory see(const Subject& subject, const Options& options) try {
  return {subject, options.running ? 0 : options.pause_ms, options.contents};
} catch (const CannotStop& failure) {
  throw Failure("{}; see it as it runs: --running", failure.what());
}

std::string text(const Subject& subject, const Inventory& seen, const CensusTable& table) {
  return fmt::format("{}; {}\n\n{}", head_text(subject, seen.census.objects(), seen.census.bytes()),
                     seen.look.text(), table.text(seen.census));
}

CensusOrder order_of(const Options& options) {
  const bool diff = options.diff_seconds > 0;
  const std::string& name = options.sort;
  if (name.empty()) return diff ? CensusOrder::kGrown : CensusOrder::kBytes;
  if (name == "grown" && !diff) throw Failure("objects: --sort grown needs --diff");
  return name == "bytes"     ? CensusOrder::kBytes
         : name == "objects" ? CensusOrder::kObjects
         : name == "size"    ? CensusOrder::kSize
         : name == "type"    ? CensusOrder::kType
                             : CensusOrder::kGrown;
}

void print_objects(const Options& options) {
  const CensusTable table{order_of(options), options.diff_seconds > 0, options.all ? SIZE_MAX : 20};
  const Subject subject(options.what);
  if (subject.is_core() && table.grown) throw Failure("objects: a core file does not grow");
  Inventory seen = see(subject, options);
  if (table.grown) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.diff_seconds));
    Inventory now = see(subject, options);
    now.compare_with(seen);
    seen = std::move(now);
  }
  seen.name_places(subject.image(), true);
  fmt::print("{}", options.json ? seen.json_text(subject, table) : text(subject, seen, table));
}

}  // namespace

void add_objects(CommandLine& command) {
  const Subcommand objects = command.add_subcommand(
      "objects", "What lives in a running process or a core file, by size and by type.");
  static Options options;
  objects.add_option("PID|CORE", options.what, "process id, or a core file").required();
  objects.add_option("--diff", options.diff_seconds, "look twice, so many seconds apart: what grew")
      .range(0.001, 1e6)
      .type_name("SECONDS");
  objects.add_option("--sort", options.sort, "bytes, objects, size, type, or grown with --diff")
      .one_of({"bytes", "objects", "size", "type", "grown"})
      .type_name("TEXT");
  objects.add_flag("--all", options.all, "all rows, not the first 20");
  objects.add_flag("--contents", options.contents,
                   "of objects without a known type, which are text; shows what may be secret");
  objects.add_option("--pause", options.pause_ms, "stop the process for so many ms at the most")
      .range(0.0, 1e6)
      .type_name("MS")
      .show_default();
  objects.add_flag("--running", options.running, "do not stop it, and be a little wrong");
  objects.add_flag("--json", options.json, "all rows as JSON");
  objects.footer(
      "Types are told by the first word: C++ objects with virtual functions, objects of\n"
      "make_shared, Python's. With a heap profile they are told by place, too. Example:\n"
      "  pktmalloc objects $(pidof redis-server)\n"
      "  pktmalloc objects --diff 10 1234");
  objects.callback([] { print_objects(options); });
}

}  // namespace pktmalloc
