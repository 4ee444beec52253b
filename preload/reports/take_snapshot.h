// SPDX-License-Identifier: MIT
// Takes a Snapshot of this process. 9 KB: the caller chooses where it lies, which is not the stack
// of a small thread. Takes the engine's locks, allocates nothing.
#pragma once

#include "preload/contract/format.h"
#include "preload/contract/statistics.h"

namespace pktmalloc {

// All but resident_bytes. All zero between the fork handlers, while this thread holds every lock.
void take_snapshot(Snapshot& out);

// Of the present moment.
Origin this_process();

// Fills resident_bytes in: a walk over all pages, a millisecond a GiB.
void measure_resident(Snapshot& out);

}  // namespace pktmalloc
