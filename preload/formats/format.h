// SPDX-License-Identifier: MIT
// The formats of statistics. The library writes its own with them (report.h), and the pktmalloc
// command those of a process that it reads from outside, so the two cannot differ. Allocates
// nothing.
#pragma once

#include "preload/formats/statistics.h"
#include "preload/formats/writer.h"

namespace pktmalloc {

// Of statistics, or of another report: the process, and when it was as they say.
struct Origin {
  const char* program;
  const char* version;  // of the library
  int pid;
  uint64_t time_ms;    // since the epoch
  uint64_t rss_bytes;  // of the whole process; 0: unknown
};

// For printf: %llu is not uint64_t everywhere.
inline unsigned long long number(uint64_t n) { return n; }

// Quotes it as JSON.
void write_string(Writer& out, const char* text);

// For people: totals, then a row per used class. Fits 100 columns.
void write_text(Writer& out, const Origin& origin, const Snapshot& snapshot);
// For programs: one JSON object with the keys of statistics.def. Changing a key's meaning raises
// kStatisticsSchema.
void write_json(Writer& out, const Origin& origin, const Snapshot& snapshot);
// Prometheus' text exposition format 0.0.4, fit for node_exporter's textfile collector. Counters
// end in _total, as its naming rules require; a class is the label size="BYTES".
void write_prometheus(Writer& out, const Snapshot& snapshot);

}  // namespace pktmalloc
