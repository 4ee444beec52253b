// SPDX-License-Identifier: MIT
// The formats of statistics: text for people, JSON, Prometheus text; each in a file
// format_NAME.cpp. The library writes its own statistics with them (report.h), and the pktmalloc
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

void write_text(Writer& out, const Origin& origin, const Snapshot& snapshot);
void write_json(Writer& out, const Origin& origin, const Snapshot& snapshot);
void write_prometheus(Writer& out, const Snapshot& snapshot);

}  // namespace pktmalloc
