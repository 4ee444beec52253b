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

#include "preload/recording/trace_buffer.h"

namespace pktmalloc {

// What a call does (observer.h), if there is a trace.
void trace_call(const TraceRecord& call);

// By order (pktmalloc tell), while the program runs. One thread at a time, with no fork meanwhile;
// it may have a table of descriptors of its own. Both return nullptr, or why nothing is done: words
// behind "the trace".
// A trace from each thread's next call on, if divert_next_calls() follows; in the file that the
// pattern of an absolute path names.
const char* start_trace(const char* pattern);
const char* stop_trace();
const char* trace_path();  // of the latest

}  // namespace pktmalloc
