// SPDX-License-Identifier: MIT
// Tuning: what `pktmalloc tune` found, and the forms in which it tells it, a file each.
#pragma once

#include <string>
#include <vector>

#include "tools/command/tune/size_recording.h"
#include "tools/command/tune/table_fit.h"

namespace pktmalloc {

struct Tuning {
  SizeRecording recording;
  std::vector<size_t> table;
  TableFit before;  // the default table
  TableFit after;
  uint64_t least = 0;  // bytes lost at the peak, had it a class for every size
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
