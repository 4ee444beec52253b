// SPDX-License-Identifier: MIT
// Report: statistics as text, JSON or Prometheus text; where they go and when.
//
// The formats are report_text.cpp, report_json.cpp and report_prometheus.cpp; which one is chosen
// by the ending of the path. Nothing here allocates, and a file that cannot be written is told in
// one line and changes nothing for the program.
#pragma once

#include "preload/snapshot.h"
#include "preload/writer.h"

namespace pktmalloc {

// For printf, whose %llu is not uint64_t everywhere.
inline unsigned long long number(uint64_t n) { return n; }

void write_text(Writer& out, const Snapshot& snapshot);
void write_json(Writer& out, const Snapshot& snapshot);
void write_prometheus(Writer& out, const Snapshot& snapshot);

// At load: remembers stderr for a program that closes its own before the end.
void report_start();

// At exit, if PKTMALLOC_STATS asks for it.
void report_at_exit();

// The descriptor that was stderr at load and still is, else 2; without PKTMALLOC_STATS=1 always 2.
int report_descriptor();

// As text on stderr, now.
void report_now();

}  // namespace pktmalloc
