// SPDX-License-Identifier: MIT
// Trace: what PKTMALLOC_TRACE recorded, all threads' calls in the one order of their times, with
// the allocation of every release found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "preload/formats/trace_format.h"

namespace pktmalloc {

enum class CallKind : uint8_t { kAllocate, kAllocateZeroed, kReallocate, kRelease };

struct Call {
  uint64_t time_ns;  // monotonic
  uint64_t bytes;    // asked for; 0 for releases
  uint32_t thread;
  uint32_t object;  // counted from 0; realloc gives it a new number
  uint32_t from;    // kReallocate: the number it had
  CallKind kind;
  uint8_t alignment_log2;  // asked for; 0: none

  bool operator==(const Call&) const = default;
};

struct Trace {
  trace::Header header;
  std::vector<Call> calls;
  uint32_t objects = 0;  // Call::object is below
  uint32_t threads = 0;  // Call::thread is below; 0 is the thread that is told apart in no trace
  uint64_t bytes = 0;    // of the file
  uint64_t uncompressed_bytes = 0;
  // Of objects from before the trace: releases, which are not among the calls, and reallocs, which
  // are allocations there.
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
