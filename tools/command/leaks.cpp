// SPDX-License-Identifier: MIT
// pktmalloc leaks PID: what a running process can no longer reach.
#include <nlohmann/json.hpp>

#include "tools/command/failure.h"
#include "tools/command/heap/dress.h"
#include "tools/command/heap/leak_report.h"
#include "tools/command/heap/subject.h"
#include "tools/command/subcommands.h"
#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"

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
  const Window& window = subject.window();
  RemoteHeap heap(window.heap, subject.image().memory());
  Subject::Whole whole;
  const Look look = subject.look_whole(heap, whole);
  const HeapCopy& copy = *whole.copy;
  forget_waiting(window.library, heap, copy);
  TypeNames types(subject.image());
  const LeakReport report = leak_report(heap, copy, types, window.library,
                                        find_lost(heap, copy, whole.roots), options.contents);
  subject.check_alive();
  uint64_t live = 0;
  uint64_t live_bytes = 0;
  for (const RemoteHeap::Slab& slab : heap.slabs()) {
    live += heap.live_objects(slab);
    live_bytes += uint64_t{heap.live_objects(slab)} * heap.size_class(slab.of).object_bytes;
  }
  if (options.json) {
    const nlohmann::ordered_json all = {{"pid", subject.pid()},
                                        {"program", window.program},
                                        {"exact", look.exact()},
                                        {"stopped_ms", look.milliseconds},
                                        {"objects", live},
                                        {"bytes", live_bytes},
                                        {"lost_objects", report.objects()},
                                        {"lost_bytes", report.bytes()},
                                        {"lost", report.json()}};
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{}, process {}: {} live objects, {}; {}\n{}", printable(window.program),
             subject.pid(), count_text(live), bytes_text(live_bytes), look.text(),
             report.text(options.all ? SIZE_MAX : 20));
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
