// SPDX-License-Identifier: MIT
// OuterRank: the library's own locks in the order in which they may nest. All come before the
// engine's (sizeclass/base/mutex.h).
#pragma once

#include "sizeclass/base/mutex.h"

namespace pktmalloc {

enum class OuterRank : uint8_t {
  kReport,         // writing statistics
  kStart,          // starting the process: options, heap, fork handlers
  kNextAllocator,  // looking up the next allocator's functions
  kMappedBlocks,   // freed mappings of a program without another allocator
  kBackground,     // starting and ending the background thread
  kReportThread,   // starting the thread that writes statistics
  kThreads,        // the list of threads, with control
  kProfile,        // the heap profile: live samples and sums
  kSizes,          // the record of sizes
  kLargeObjects,   // checked: the table of objects outside the slabs
  kQuarantine,     // checked: the freed objects waiting
  kTraceShared,    // the trace's shared buffer
  kTraceFile,      // the trace's file, and which buffers are written to it
};

// Below 0, where the engine's ranks begin.
constexpr LockRank lock_rank(OuterRank rank) {
  return static_cast<LockRank>(static_cast<int>(rank) - 256);
}

}  // namespace pktmalloc
