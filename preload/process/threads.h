// SPDX-License-Identifier: MIT
// Threads: those that have a cache can be made to take the slow path while they run.
#pragma once

#include "sizeclass/mutex.h"

namespace pktmalloc {

// The next allocation and the next release of each thread take the slow path, which sets the
// thread's pointers anew. Waits 1 ms; a thread that spends all of it inside of one slow call may do
// without. Any thread.
void divert_next_calls();

// Who holds it knows that no fork is under way, with PKTMALLOC_CONTROL.
Mutex& threads_mutex();

}  // namespace pktmalloc
