// SPDX-License-Identifier: MIT
// Report: when to write statistics, the heap profile and the record of sizes, and where: to stderr
// or into a file (report_file.h). At load it keeps stderr for programs that close their own before
// the end; at exit it writes what the options ask for. Nothing here allocates. If a file cannot be
// written, one line says so, and nothing changes for the program.
#pragma once

#include "preload/formats/recording_format.h"
#include "preload/formats/writer.h"

namespace pktmalloc {

// While the program runs; called by the reporter alone.
void report_meanwhile();

// The reporter (report_thread.cpp): a thread of the library's own that writes statistics, heap
// profile and sizes while the program runs, every PKTMALLOC_STATS_INTERVAL, and obeys pktmalloc
// tell (control.h). It exists only with that option or PKTMALLOC_CONTROL, or once pktmalloc tell
// has called for it. Called by allocating slow paths: the child of a fork gets its own. Cheap when
// there is nothing to do.
void consider_report_thread();

// The same of one content other than the trace, where `file` says (a pattern; nullptr: where its
// option does). `out` gets where it is, or why it is not; then false.
bool report_on_demand(recording::Content what, const char* file, Writer& out);

// Writes text on stderr, now.
void report_now();

}  // namespace pktmalloc
