// SPDX-License-Identifier: MIT
// pktmalloc tune FILE...: the class table that fits what programs asked for.
#include <fmt/core.h>

#include <memory>

#include "tools/command/failure.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/output_file.h"
#include "tools/command/tune/class_tuner.h"
#include "tools/command/tune/tuning.h"

namespace pktmalloc {
namespace {

struct Wanted {
  std::vector<std::string> files;
  TuningLimits limits;
  bool packet = false;
  bool json = false;
  std::string def;
  std::string picture;
};

// A frame, a frame with headroom, a jumbo frame: see classes.def.
const std::vector<size_t> kPacketSizes = {1600, 2176, 9216};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::unique_ptr<OutputFile> open_if_named(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<OutputFile>(path);
}

Tuning tune_recording(const Wanted& wanted) {
  Tuning tuning;
  tuning.recording = read_sizes(wanted.files);
  tuning.table = tune(tuning.recording.sizes, wanted.limits);
  if (tuning.table.empty()) throw Failure("nothing was recorded that a class could serve");
  tuning.least = least_rounding(tuning.recording.sizes, wanted.limits.largest);
  ClassTable table;
  table.use_default();
  tuning.before = fit(table, tuning.recording);
  table.use_list(tuning.table.data(), static_cast<unsigned>(tuning.table.size()));
  tuning.after = fit(table, tuning.recording);
  return tuning;
}

void run(Wanted wanted) {
  if (wanted.packet) wanted.limits.kept = kPacketSizes;
  if (wanted.limits.classes < wanted.limits.kept.size()) {
    throw Failure("--packet keeps {} classes, and --classes allows {}", kPacketSizes.size(),
                  wanted.limits.classes);
  }
  if (!wanted.picture.empty() && !ends_with(wanted.picture, ".svg") &&
      !ends_with(wanted.picture, ".html")) {
    throw Failure("--picture {}: the name must end in .svg or .html", wanted.picture);
  }
  const auto def = open_if_named(wanted.def);
  const auto picture = open_if_named(wanted.picture);
  const Tuning tuning = tune_recording(wanted);
  if (def) def->write(tuning_def(tuning));
  if (picture) {
    picture->write(ends_with(wanted.picture, ".svg") ? tuning_svg(tuning) : tuning_page(tuning));
  }
  fmt::print("{}", wanted.json ? tuning_json(tuning) : tuning_text(tuning));
}

}  // namespace

void add_tune(CLI::App& command) {
  CLI::App* const tune = command.add_subcommand("tune", "The class table that fits a program.");
  static Wanted wanted;
  tune->add_option("FILE", wanted.files, "what PKTMALLOC_SIZES=FILE recorded; many are merged")
      ->required();
  tune->add_option("--classes", wanted.limits.classes, "at most so many classes")
      ->check(CLI::Range(1, 63))
      ->type_name("N")
      ->capture_default_str();
  tune->add_flag("--packet", wanted.packet, "keep the packet sizes 1600, 2176 and 9216");
  tune->add_option("--largest", wanted.limits.largest,
                   "bytes; larger requests stay with the next allocator")
      ->check(CLI::Range(16, 1 << 20))
      ->type_name("BYTES")
      ->capture_default_str();
  tune->add_option("--def", wanted.def, "write the table for a build, as sizeclass/classes.def")
      ->type_name("FILE");
  tune->add_option("--picture", wanted.picture, "draw the histogram and the classes")
      ->type_name("FILE.svg|.html");
  tune->add_flag("--json", wanted.json, "print JSON");
  tune->footer(
      "Example:\n"
      "  PKTMALLOC_SIZES=sizes.%p.json LD_PRELOAD=libpktmalloc.so ./app\n"
      "  pktmalloc tune sizes.*.json --picture sizes.svg\n"
      "  pktmalloc compare -n 10 --classes 16,32,... -- ./app");
  tune->callback([] { run(wanted); });
}

}  // namespace pktmalloc
