// SPDX-License-Identifier: MIT
// Moments: the statistics of this process at one, and those that are noted in the recording
// (recording/recording.h) while it lives, because it may end without a word.
#pragma once

#include "preload/formats/format.h"
#include "preload/formats/statistics.h"
#include "preload/recording/recording.h"

namespace pktmalloc {

// All but resident_bytes. All zero between the fork handlers, while this thread holds every lock. A
// Snapshot has 9 KB, so the caller chooses where it lies: not on the stack of a small thread. Takes
// the engine's locks, allocates nothing.
void take_snapshot(Snapshot& out);

// Fills in resident_bytes: a walk over all pages, a millisecond per GiB.
void measure_resident(Snapshot& out);

// For the present moment.
Origin this_process();

// Notes the present one, for ends without a report (_exit, quick_exit). Safe in a signal handler,
// whatever that interrupts.
void note_moment();

void note_moment_if_due();

// Called by allocating slow paths.
inline void consider_moment() {
  if (recording_alive != nullptr) [[unlikely]]
    note_moment_if_due();
}

}  // namespace pktmalloc
