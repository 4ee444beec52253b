// SPDX-License-Identifier: MIT
// Look: how the heap of a process was copied, and how far its numbers can be trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tools/command/heap/remote_heap.h"
#include "tools/command/system/stop.h"

namespace pktmalloc {

// Called once the heap is copied, while the process stands still.
using Also = std::function<void(StandingProcess&)>;

struct Look {
  bool core = false;         // a core file
  bool stopped = false;      // the process stood still meanwhile
  double milliseconds = 0;   // for so long; if it did not, copying took that
  uint64_t meanwhile = 0;    // objects that it handed out while it was copied
  bool amid_change = false;  // a thread stood still amid a change of its lists
  unsigned not_stopped = 0;  // threads that did not stand still

  bool exact() const { return (stopped || core) && !amid_change && not_stopped == 0; }
  std::string text() const;
};

inline constexpr double kAsLongAsItTakes = 1e9;  // milliseconds

// Copies the heap and finds its live objects. The process may stand still for so long, as a copy
// shows that is made while it runs; where that would not do, or is 0, it runs on. `also` is called
// if it stands still.
Look look_at(RemoteHeap& heap, pid_t pid, double most_ms, const Also& also = nullptr);

}  // namespace pktmalloc
