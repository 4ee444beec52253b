// SPDX-License-Identifier: MIT
// Report: when statistics, the heap profile and the record of sizes are written, and where: to
// stderr or into a file (report_file.h). Nothing here allocates, and a file that cannot be written
// is told in one line and changes nothing for the program.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

// At load it remembers stderr for a program that closes its own before the end; at exit it writes
// what the options ask for.
extern const Part report_part;

// While the program runs; from one thread (reporter.h).
void report_meanwhile();

// The descriptor that was stderr at load and still is, else 2; where nothing is to be written to
// stderr at exit, always 2.
int report_descriptor();

// In the process that PKTMALLOC_TELL names: where a file is and, unless nullptr, the command that
// reads it.
void report_tell(const char* what, const char* path, const char* command);

// As text on stderr, now.
void report_now();

}  // namespace pktmalloc
