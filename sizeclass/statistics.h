// SPDX-License-Identifier: MIT
// HeapStatistics: a snapshot of the engine's counters, words as in docs/statistics.md.
//
// Exact when no thread is inside the heap; otherwise each counter is right by itself and sums may
// be off by what is under way. Never negative. What can be derived is derived here, not counted.
#pragma once

#include <cstdint>

#include "sizeclass/class_id.h"

namespace pktmalloc {

struct ClassStatistics {
  uint64_t object_bytes;
  uint64_t allocs, frees, live;                         // objects; live = allocs - frees
  uint64_t cached_threads, cached_depot, cached_slabs;  // free objects by place
  uint64_t depot_takes, depot_gives;                    // magazines
  uint64_t fills, drains;                               // trips to slabs
  uint64_t commits, purges;                             // system calls
  uint64_t active_bytes;                                // slabs that hold a live or cached object
  uint64_t free_bytes;                                  // usable slabs that hold none
  uint64_t committed_bytes;                             // = active + free
  uint64_t purged_bytes;                                // given back since start
};

struct HeapStatistics {
  unsigned classes;
  ClassStatistics of[kMaxClasses];
  uint64_t metadata_bytes;  // magazines, slab records, caches: usable
  uint64_t reserved_bytes;  // address space
  uint64_t area_bytes;      // of one class
  uint64_t waiting_bytes;   // will go back if nobody needs it
  uint64_t threads_seen, threads_alive;
};

}  // namespace pktmalloc
