// SPDX-License-Identifier: MIT
// Quarantine: freed objects wait here, poisoned, before anybody gets their memory again; a write to
// one meanwhile is found when it leaves, or at the latest when the program ends.
//
// First in, first out, bounded in bytes (PKTMALLOC_QUARANTINE). A ring of pointers lies apart from
// the objects; each thread adds a batch at a time. Its lock guards only the ring; objects that
// leave are inspected afterwards.
#pragma once

#include "preload/checked/object.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc::checked {

void start_quarantine(size_t bytes, int rate);

// Takes an object whose freed_at is set. Its memory goes back at once if it is too large to wait.
void quarantine(Header& header);

// What this thread freed, and the oldest in the ring beyond so many bytes, are inspected and, as a
// rule, given back; what other threads freed last is not. At exit nothing goes back to the heap: a
// signal handler that allocates would find its locks held.
void leave_quarantine(size_t most_bytes, bool gives_back = true);

extern Mutex quarantine_mutex;  // held around a fork

}  // namespace pktmalloc::checked
