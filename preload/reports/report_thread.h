// SPDX-License-Identifier: MIT
// The reporter: a thread of the library's own that writes statistics, heap profile and sizes while
// the program runs, each PKTMALLOC_STATS_INTERVAL and at each PKTMALLOC_STATS_SIGNAL. Only by these
// options.
//
// The handler of the signal does nothing but wake the thread, so the signal may interrupt anything.
// A program that sets a handler of its own for that signal later has it.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

// From allocating slow paths: the child of a fork gets its own. Cheap when there is nothing to do.
void reporter_consider();

extern const Part reporter_part;

}  // namespace pktmalloc
