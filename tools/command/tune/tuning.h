// SPDX-License-Identifier: MIT
// Tuning: what `pktmalloc tune` found, and the forms in which it tells it, a file each.
#pragma once

#include <string>
#include <vector>

#include "tools/command/tune/memory_prediction.h"
#include "tools/command/tune/size_recording.h"
#include "tools/command/tune/table_fit.h"

namespace pktmalloc {

// One program's bytes of pages at its peak.
struct ProgramFit {
  std::string program;
  uint64_t files = 0;
  uint64_t before = 0;  // with the default table
  uint64_t after = 0;   // with the table that is for all
  uint64_t own = 0;     // with a table for it alone
};

struct Tuning {
  SizeRecording recording;
  std::vector<size_t> table;
  TableFit before;  // the default table
  TableFit after;
  MemoryPrediction memory;
  uint64_t least = 0;  // bytes lost at the peak, had it a class for every size
  std::vector<ProgramFit> programs;
};

std::string tuning_text(const Tuning& tuning);
std::string tuning_json(const Tuning& tuning);
// A classes.def for a build.
std::string tuning_def(const Tuning& tuning);
// The histogram with the class borders before and after, alone or as a page.
std::string tuning_svg(const Tuning& tuning);
std::string tuning_page(const Tuning& tuning);

// The value of PKTMALLOC_CLASSES.
std::string classes_value(const Tuning& tuning);
// "redis-server", "python3 and 2 others"
std::string programs_text(const SizeRecording& recording);

}  // namespace pktmalloc
