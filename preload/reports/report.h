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

// While the program runs; from one thread (report_thread.h).
void report_meanwhile();

// As text on stderr, now.
void report_now();

}  // namespace pktmalloc
