// SPDX-License-Identifier: MIT
// Passes: requests that went to the next allocator, counted by reason and size band.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/contract/statistics.h"

namespace pktmalloc {

// One more, by the calling thread. Any thread; no locked instruction in one that has a cache.
void count_pass(PassReason reason, size_t bytes);

// Since start, of threads without a cache, by PassReason and size band; those of the others are in
// their caches' tallies.
using PassCounts = std::atomic<uint64_t>[kPassReasons][kSizeBands];
const PassCounts& passed_counts();

}  // namespace pktmalloc
