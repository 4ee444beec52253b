// SPDX-License-Identifier: MIT
// Takes a Snapshot of this process. It has 9 KB, so the caller chooses where it lies: not on the
// stack of a small thread. Takes the engine's locks, allocates nothing.
#pragma once

#include "preload/formats/format.h"
#include "preload/formats/statistics.h"

namespace pktmalloc {

// All but resident_bytes. All zero between the fork handlers, while this thread holds every lock.
void take_snapshot(Snapshot& out);

// For the present moment.
Origin this_process();

// Fills in resident_bytes: a walk over all pages, a millisecond per GiB.
void measure_resident(Snapshot& out);

}  // namespace pktmalloc
