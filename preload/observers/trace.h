// SPDX-License-Identifier: MIT
// The trace: every call into a file, while PKTMALLOC_TRACE says so; `pktmalloc replay` plays it.
//
// A thread records into a buffer of its own, without lock or atomic instruction, and writes it out
// itself when it is full: a file that cannot keep up slows the program down, and nothing is lost.
// What a buffer cannot take goes through one that all share, under a lock: calls of threads before
// their first and after their last moment with a cache, and of signal handlers that interrupt a
// record. When memory or the file is refused the trace ends with a line on stderr; the program goes
// on. A forked child has its own trace where its name is another (%p), from its first full buffer,
// and none otherwise.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part trace_part;

}  // namespace pktmalloc
