// SPDX-License-Identifier: MIT
// Reading: one set of statistics, with who and when. From a file that the library wrote as JSON, or
// from a running process (live.h).
#pragma once

#include <string>

#include "preload/formats/statistics.h"

namespace pktmalloc {

struct Reading {
  std::string program;
  std::string version;  // of the library
  int pid = 0;
  double time = 0;           // seconds since the epoch
  uint64_t page_faults = 0;  // of the process, so far; 0: not known, as files do not tell
  Snapshot snapshot{};
};

// "-" is stdin. Throws Failure with the path when the file cannot be read, is no statistics file,
// or has another schema than kStatisticsSchema. Keys it does not know are skipped, keys that are
// missing are 0.
Reading read_statistics(const std::string& path);

}  // namespace pktmalloc
