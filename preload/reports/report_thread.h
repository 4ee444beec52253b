// SPDX-License-Identifier: MIT
// The reporter: a thread of the library's own that writes statistics, heap profile and sizes while
// the program runs, every PKTMALLOC_STATS_INTERVAL, and obeys pktmalloc tell (control.h). It exists
// only with that option or PKTMALLOC_CONTROL, or once pktmalloc tell has called for it.
#pragma once

namespace pktmalloc {

// Called by allocating slow paths: the child of a fork gets its own. Cheap when there is nothing to
// do.
void consider_report_thread();

}  // namespace pktmalloc
