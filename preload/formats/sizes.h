// SPDX-License-Identifier: MIT
// The record of sizes as JSON, for pktmalloc tune: its parts in their order. The library writes its
// own with them (recording/size_recording.cpp), and the pktmalloc command that of a process that
// ended before it could. Allocates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "preload/formats/format.h"

namespace pktmalloc {

// Of requests above, which no class serves unless PKTMALLOC_CLASSES says so, the objects do not
// count for the peak.
inline constexpr uint64_t kLargestAtPeak = uint64_t{256} << 10;

struct SizeTotals {
  uint64_t threads;
  uint64_t memory_bytes;  // the most that the classes had in memory
  uint64_t missing;       // allocations that are not among the rows
  uint64_t usable_sizes;  // that the program asked for (malloc_usable_size)
};

struct SizesOrigin : Origin {
  uint64_t started_us;  // since the epoch
  uint64_t peak_bytes;
  SizeTotals totals;
  std::span<const uint64_t> classes;  // bytes of an object
};

// One kind of request.
struct SizeCounts {
  uint64_t bytes, alignment, calls, live_at_peak;
  uint32_t threads;
};

void write_sizes_head(Writer& out, const SizesOrigin& origin);
void write_size(Writer& out, const SizeCounts& row, bool is_first);
inline constexpr char kSizesEnd[] = "\n  ]\n}\n";

}  // namespace pktmalloc
