// SPDX-License-Identifier: MIT
// The counters behind a Window: copies them out of their process and sums them up.
#pragma once

#include "preload/formats/live_window.h"
#include "preload/formats/statistics.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

// All of a Snapshot but resident_bytes. Some ten system calls, and one more for each hundred
// threads that the process ever had at once.
void read_counters(const Window& window, const RemoteMemory& memory, Snapshot& out);

}  // namespace pktmalloc
