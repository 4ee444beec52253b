// SPDX-License-Identifier: MIT
// Quarantine: freed objects wait here, poisoned, before anybody gets their memory again; who writes
// to one meanwhile is found when it leaves, at the latest when the program ends.
//
// First in, first out, bounded in bytes (PKTMALLOC_QUARANTINE). A ring of pointers beside the
// objects, which each thread joins with a batch at a time. Its lock is held for nothing but the
// ring; what leaves is looked at afterwards.
#pragma once

#include "preload/checked/object.h"
#include "sizeclass/mutex.h"

namespace pktmalloc::checked {

void start_quarantine(size_t bytes);

// Takes an object whose freed_at is set. Its memory goes back at once if it is too large to wait.
void quarantine(Header& header);

// The calling thread ends: what it keeps for itself joins the others.
void leave_thread_of_quarantine();

// At exit: the last look at all that wait, but for what other threads freed last. Nothing goes back
// to the heap, whose locks a signal handler that allocates would find held.
void inspect_quarantine();

Mutex& quarantine_mutex();

}  // namespace pktmalloc::checked
