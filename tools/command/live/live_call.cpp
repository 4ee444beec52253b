// SPDX-License-Identifier: MIT
#include "tools/command/live/live_call.h"

#include <sys/uio.h>
#include <unistd.h>

#include "tools/command/failure.h"
#include "tools/command/live/live.h"

namespace pktmalloc {

// What filters do with the calls that a thread of control needs, the kernel does not tell. They may
// be those of a container, which this command has as well.
std::string objection_to_call(const Process& process) {
  const bool filters = process.filters() > Process(getpid()).filters();
  return filters ? "it filters system calls, and one that control makes may end it; start it with "
                   "PKTMALLOC_CONTROL=1"
                 : "";
}

void call(const Process& process) {
  const std::string objection = objection_to_call(process);
  if (!objection.empty()) throw Failure("process {}: {}", process.pid(), objection);
  const LiveProcess live(process.pid());
  const uint64_t byte = live.window().heap.caller;
  if (byte == 0) throw Failure("process {} pools nothing and cannot be called", process.pid());
  live.write_byte(byte, 1);
}

}  // namespace pktmalloc
