// SPDX-License-Identifier: MIT
// Sizes: PKTMALLOC_SIZES records what the program asks for, as an observer of every call: for each
// size and alignment the calls, the objects that were live when the program held most, and the
// threads that used it. report.h writes it as JSON, at exit and while the program runs;
// `pktmalloc tune` reads it.
//
// In the child of a fork the record goes on: objects live on, calls, threads and the peak are the
// child's own. When memory for the record is refused it ends, in one line; the file then says how
// many allocations are missing.
#pragma once

#include "preload/contract/writer.h"
#include "preload/process/part.h"

namespace pktmalloc {

extern const Part sizes_part;

// Is there a record to write?
bool recording_sizes();

// As JSON. One thread at a time; takes no lock, so that no allocation waits for it.
void write_sizes(Writer& out);

}  // namespace pktmalloc
