// SPDX-License-Identifier: MIT
// pktmalloc tune FILE...: the class table that fits what programs asked for.
#include <fmt/core.h>

#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/subcommands.h"
#include "tools/command/tune/class_tuner.h"
#include "tools/command/tune/tuning.h"

namespace pktmalloc {
namespace {

struct Options {
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

ClassTable table_of(const std::vector<size_t>& sizes) {
  ClassTable table;
  table.use_list(sizes.data(), static_cast<unsigned>(sizes.size()));
  return table;
}

Tuning tune_recording(const Options& options) {
  Tuning tuning;
  const std::vector<SizeRecording> programs = read_sizes(options.files);
  tuning.recording = merge(programs);
  tuning.table = tune(tuning.recording.sizes, options.limits);
  if (tuning.table.empty()) throw Failure("nothing was recorded that a class could serve");
  tuning.least = least_rounding(tuning.recording.sizes, options.limits.largest);
  ClassTable standard;
  standard.use_default();
  const ClassTable common = table_of(tuning.table);
  tuning.before = fit(standard, tuning.recording);
  tuning.after = fit(common, tuning.recording);
  tuning.memory = MemoryPrediction(tuning.recording);
  for (const SizeRecording& program : programs) {
    const ClassTable own =
        programs.size() == 1 ? common : table_of(tune(program.sizes, options.limits));
    tuning.programs.push_back({*program.programs.begin(), program.files,
                               fit(standard, program).page_bytes, fit(common, program).page_bytes,
                               fit(own, program).page_bytes});
  }
  return tuning;
}

void run(Options options) {
  if (options.packet) options.limits.kept = kPacketSizes;
  if (options.limits.classes < options.limits.kept.size()) {
    throw Failure("--packet keeps {} classes, and --classes allows {}", kPacketSizes.size(),
                  options.limits.classes);
  }
  if (!options.picture.empty() && !ends_with(options.picture, ".svg") &&
      !ends_with(options.picture, ".html")) {
    throw Failure("--picture {}: the name must end in .svg or .html", options.picture);
  }
  const auto def = output_at(options.def);
  const auto picture = output_at(options.picture);
  const Tuning tuning = tune_recording(options);
  if (def) def->write(tuning_def(tuning));
  if (picture) {
    picture->write(ends_with(options.picture, ".svg") ? tuning_svg(tuning) : tuning_page(tuning));
  }
  fmt::print("{}", options.json ? tuning_json(tuning) : tuning_text(tuning));
}

}  // namespace

void add_tune(CommandLine& command) {
  const Subcommand tune = command.add_subcommand("tune", "The class table that fits a program.");
  static Options options;
  tune.add_option("FILE", options.files, "what PKTMALLOC_SIZES=FILE recorded; many are merged")
      .required();
  tune.add_option("--classes", options.limits.classes, "at most so many classes")
      .range(1, 63)
      .type_name("N")
      .show_default();
  tune.add_flag("--packet", options.packet, "keep the packet sizes 1600, 2176 and 9216");
  tune.add_option("--largest", options.limits.largest,
                  "bytes; larger requests stay with the next allocator")
      .range(16, 1 << 20)
      .type_name("BYTES")
      .show_default();
  tune.add_option("--def", options.def,
                  "write the table for a build, as sizeclass/slabs/classes.def")
      .type_name("FILE");
  tune.add_option("--picture", options.picture, "draw the histogram and the classes")
      .type_name("FILE.svg|.html");
  tune.add_flag("--json", options.json, "print JSON");
  tune.footer(
      "Example:\n"
      "  PKTMALLOC_SIZES=sizes.%p.json LD_PRELOAD=libpktmalloc.so ./app\n"
      "  pktmalloc tune sizes.*.json --picture sizes.svg\n"
      "  pktmalloc compare -n 10 --classes 16,32,... -- ./app");
  tune.callback([] { run(options); });
}

}  // namespace pktmalloc
