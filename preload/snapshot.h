// SPDX-License-Identifier: MIT
// Snapshot: everything that the statistics tell, taken at one moment. The engine's counters with
// totals over the classes, and what the process knows beside them. About 20 KB: the caller chooses
// where it lies. Takes the engine's locks, allocates nothing.
#pragma once

#include "preload/route.h"
#include "sizeclass/statistics.h"

namespace pktmalloc {

struct ProcessStatistics {
  uint64_t allocated_bytes, cached_threads_bytes, cached_depot_bytes, cached_slabs_bytes;
  uint64_t active_bytes, free_bytes, committed_bytes, resident_bytes, purged_bytes;
  uint64_t metadata_bytes, reserved_bytes, waiting_bytes;
  uint64_t allocs, frees, passed;
  uint64_t threads_seen, threads_alive, forks;
};

struct Snapshot {
  HeapStatistics heap;
  ProcessStatistics process;
  uint64_t passed[kPassReasons][kSizeBands];
};

// All but resident_bytes. All zero between the fork handlers, while this thread holds every lock.
void take_snapshot(Snapshot& out);

// Fills resident_bytes in: a walk over all pages, a millisecond a GiB.
void measure_resident(Snapshot& out);

}  // namespace pktmalloc
