// SPDX-License-Identifier: MIT
// Moments: the statistics, noted in the recording (recording/recording.h) while the process lives,
// because it may end without a word.
#pragma once

#include "preload/recording/recording.h"

namespace pktmalloc {

// The present one, for ends without a report (_exit, quick_exit). Safe in a signal handler,
// whatever that interrupts.
void note_moment();

void note_moment_if_due();

// Called by allocating slow paths.
inline void consider_moment() {
  if (recording_alive != nullptr) [[unlikely]]
    note_moment_if_due();
}

}  // namespace pktmalloc
