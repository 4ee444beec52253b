// SPDX-License-Identifier: MIT
// The reporter: a thread of the library's own that writes statistics, heap profile and sizes while
// the program runs, every PKTMALLOC_STATS_INTERVAL and at each PKTMALLOC_STATS_SIGNAL. It exists
// only with these options.
//
// The signal's handler only wakes the thread, so the signal may interrupt anything. A program that
// later sets a handler of its own for that signal gets the signal.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

// Called by allocating slow paths: the child of a fork gets its own. Cheap when there is nothing to
// do.
void consider_report_thread();

extern const Part report_thread_part;

}  // namespace pktmalloc
