// SPDX-License-Identifier: MIT
// The background thread: gives memory back while the program is idle and runs no code of ours.
//
// It sleeps without a timeout while nothing waits to be given back, and wakes once a tick while
// something does. With PKTMALLOC_BACKGROUND=auto it starts only in a process with several threads
// and more than 32 MiB of classes, so a single-threaded program never gets a second thread unasked.
// Since no free may start it (own_thread.h), it must exist before the frees it serves; a free wakes
// it with one futex call.
#pragma once

namespace pktmalloc {

// Starts the thread if it is wanted and missing. Cheap otherwise.
void background_consider();

}  // namespace pktmalloc
