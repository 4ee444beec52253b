// SPDX-License-Identifier: MIT
// Trace: what PKTMALLOC_TRACE recorded, all threads' calls in the one order of their times, with
// the allocation of every release found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "preload/trace_format.h"

namespace pktmalloc {

struct Call {
  uint64_t time_ns;  // monotonic
  uint64_t bytes;    // asked for; 0 for releases
  uint32_t thread;
  uint32_t object;  // counted from 0 in order of allocation
  trace::RecordKind kind;
  uint8_t alignment_log2;
};

struct Trace {
  trace::Header header;
  std::vector<Call> calls;
  uint32_t objects = 0;  // allocations
  uint32_t threads = 0;  // Call::thread is below; 0 is the thread that is told apart in no trace
  uint64_t bytes = 0;    // of the file
  // Releases of objects from before the trace; they are not among the calls.
  uint64_t early_releases = 0;
  // Allocations where an object lived already: its release was not seen, and is among the calls.
  uint64_t unseen_releases = 0;
  // What is missing at the end and where, a line; "" for a trace that ended with its process.
  std::string warning;

  const char* program() const { return header.program; }
};

// "-" is stdin. Throws Failure when nothing of it is a trace of this version; whatever is damaged
// or cut off is left out and told in `warning`.
Trace read_trace(const std::string& path);

}  // namespace pktmalloc
