// SPDX-License-Identifier: MIT
// Threads: those that have a cache, so that each can be made to take the slow path while it runs.
#pragma once

#include "preload/process/part.h"
#include "sizeclass/mutex.h"

namespace pktmalloc {

// The next allocation and the next release of each thread take the slow path, which sets the
// thread's pointers anew. Where there are other threads it waits 1 ms; one that spends all of it
// inside of one slow call may do without. Any thread.
void divert_next_calls();

// Forks wait for it.
Mutex& threads_mutex();

extern const Part threads_part;

}  // namespace pktmalloc
