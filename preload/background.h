// SPDX-License-Identifier: MIT
// The background thread: gives memory back while the program is idle and runs no code of ours.
//
// One detached thread with all signals blocked and a small stack. It sleeps without a timeout while
// nothing waits to be given back, and wakes once a tick while something does. With
// PKTMALLOC_BACKGROUND=auto it is started only in a process that has several threads and more than
// 32 MiB of classes, so a single-threaded program never gets a second one unasked.
//
// It is started from the slow path of allocating functions only, never of free: libc calls free
// with its thread-stack lock held, which pthread_create takes as well. So it must exist before the
// frees it is for; waking it from there is one futex call.
#pragma once

#include "sizeclass/mutex.h"

namespace pktmalloc {

// Starts the thread if it is wanted and not there. Cheap when it is not.
void background_consider();

// At load: looks up libc's own pthread_create, because a wrapper's may be what is allocating; no
// thread is started before.
void background_allow();

// In the child of a fork: the thread is gone, the next background_consider() may start one.
void background_forget();

Mutex& background_mutex();

}  // namespace pktmalloc
