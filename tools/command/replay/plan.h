// SPDX-License-Identifier: MIT
// Plan: a trace laid out for being played, in memory that is shared with the process that plays it
// (player.h), which allocates nothing but what the trace says.
//
// Between threads the order is kept where it matters: what is done to another thread's object waits
// until that thread has allocated or resized it; a thread is started where its first call comes, by
// the thread that called before it, after those that had ended by then. All of these wait for
// something earlier in the order of the trace, so none waits for ever.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/command/replay/trace.h"

namespace pktmalloc {

// A realloc is two: kTake names the object, kReallocate says what becomes of it.
enum class Action : uint8_t {
  kAllocate,
  kAllocateZeroed,
  kTake,
  kTakeOfOther,  // another thread's
  kReallocate,
  kRelease,
  kReleaseOfOther,
  kStartThread
};

struct Operation {
  uint64_t time_ns;  // since the first call
  uint64_t bytes;    // asked for; kTake: that it has; kStartThread: which entries of the plan's
                     // list it waits for, first << 32 | count
  uint32_t slot;     // of the object; kStartThread: the thread
  Action action;
  uint8_t alignment_log2;  // asked for; 0: none
};

struct Latency {
  double p50, p99, p99_9;  // ns
};

// What was measured.
struct Playing {
  bool finished;
  uint64_t time_ns;
  uint64_t peak_bytes, end_bytes;  // resident, less what the player itself holds
  uint64_t allocations, reallocations, releases, refused;
  Latency allocation, reallocation, release;  // when asked for
};

struct Stream {
  uint64_t first, count;  // of the operations
};

// At the start of the shared memory; the arrays follow.
struct PlanHeader {
  uint64_t bytes;  // in all
  uint64_t streams, operations, waits;
  uint64_t slots;         // of the table of objects
  uint64_t first_stream;  // the one that starts the others
  // How it is to be played.
  bool real_time, touch, latencies, nothing;
  char library[4096];  // that must be in the process; "" for none
  Playing playing;

  Stream* stream_array() { return reinterpret_cast<Stream*>(this + 1); }
  Operation* operation_array() { return reinterpret_cast<Operation*>(stream_array() + streams); }
  uint32_t* wait_array() { return reinterpret_cast<uint32_t*>(operation_array() + operations); }
};

class Plan {
 public:
  // Uses the trace's calls up.
  explicit Plan(Trace& trace);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  int descriptor() const { return descriptor_; }
  PlanHeader& header() { return *header_; }

 private:
  int descriptor_ = -1;
  PlanHeader* header_ = nullptr;
};

}  // namespace pktmalloc
