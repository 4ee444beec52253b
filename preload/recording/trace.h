// SPDX-License-Identifier: MIT
// The trace: writes every call into a file when PKTMALLOC_TRACE or an order asks for it; `pktmalloc
// replay` plays it.
//
// A thread records into its own buffer, without lock or atomic instruction, and writes it out
// itself when it is full: a slow file slows the program down, but loses nothing. Calls that have no
// such buffer go into one that all share, under a lock: those of threads before their first and
// after their last moment with a cache, and of signal handlers that interrupt a record. If memory
// or the file is refused, the trace ends with a line on stderr and the program goes on. A forked
// child has its own trace if its name differs (%p), from its first full buffer, and none otherwise.
#pragma once

#include "preload/formats/trace_format.h"

namespace pktmalloc {

// The option and the order (trace_order.h) begin it, in the file of a pattern that stays. By order
// the file is opened for each block, so threads with different tables of descriptors can write it.
// False after a line.
bool begin_trace(const char* pattern, bool by_order);
// Writes what the threads have recorded until now; what they record meanwhile is lost. How it
// ended, or nullptr: there was no file that it could end.
const trace::State* finish_trace();
const char* trace_path();  // of the latest

}  // namespace pktmalloc
