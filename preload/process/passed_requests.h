// SPDX-License-Identifier: MIT
// Passed requests: requests that went to the next allocator, counted by reason and size band.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/formats/statistics.h"

namespace pktmalloc {

// Counts one more for the calling thread. Any thread; no locked instruction if it has a cache.
void count_pass(PassReason reason, size_t bytes);

// Since start, from threads without a cache, by PassReason and size band; the other threads' are in
// their caches' tallies.
using PassCounts = std::atomic<uint64_t>[kPassReasons][kSizeBands];
extern PassCounts passed_counts;

}  // namespace pktmalloc
