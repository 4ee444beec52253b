// SPDX-License-Identifier: MIT
// Statistics: what the engine counts and derives; words as in docs/statistics.md.
//
// Plain structs of 64-bit numbers, so that a reader outside the process can copy them as they are
// (heap_window.h). Exact when no thread is inside the heap; otherwise each counter is right by
// itself and sums may be off by what is under way. Never negative. class_statistics() derives what
// need not be counted, inside the process and outside.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sizeclass/base/class_id.h"
#include "sizeclass/base/memory_limit.h"
#include "sizeclass/base/owned.h"

namespace pktmalloc {

// For the slabs of one class. Counts are objects unless the name says otherwise, since start or at
// the moment.
struct AreaStatistics {
  uint64_t filled, drained;         // objects that left and came back, since start
  uint64_t fills, drains;           // calls
  uint64_t free_objects;            // in its slabs
  Owned<uint64_t> slabs;            // that it has
  uint64_t empty_slabs;             // of these, without an object that is out: those that it keeps
  Owned<uint64_t> populated_slabs;  // of these, in advance
};

// What the pool knows of a class, or of blocks: of the units that were its last (slab_pool.h).
struct PoolShare {
  uint64_t empty_bytes;
  uint64_t commits, purges;     // system calls
  uint64_t purged_total_bytes;  // given back since start
};

// For one class in one cache; sums over caches are exact when no thread is running.
struct CacheStatistics {
  uint64_t taken, given;  // objects from and to the depot, since start
  uint64_t takes, gives;  // magazines
  uint64_t allocated;     // objects handed out, since start
  uint64_t held;          // objects in the magazines at the moment
};

struct ClassStatistics {
  uint64_t object_bytes;
#define CLASS_STATISTIC(key, kind, help) uint64_t key;
#include "sizeclass/base/class_statistics.def"
};

// Counts whose meaning the engine's user defines (Cache::tally).
inline constexpr unsigned kTallies = 20;

struct HeapStatistics {
  unsigned classes;
  ClassStatistics of[kMaxClasses];
  ClassStatistics blocks;  // of no common size
  uint64_t tallies[kTallies];
  uint64_t metadata_bytes;  // magazines, slab records, caches: usable
  uint64_t reserved_bytes;  // mapped addresses
  uint64_t waiting_bytes;   // will go back if nobody needs it
  uint64_t threads_seen, threads_alive;
  uint64_t limit_bytes, soft_limit_bytes;  // 0: none
  uint64_t limited_bytes;                  // counted against them

  void use(const MemoryLimit::Counts& counts) {
    limit_bytes = counts.hard == MemoryLimit::kNone ? 0 : counts.hard;
    soft_limit_bytes = counts.soft == counts.hard ? 0 : counts.soft;
    limited_bytes = counts.used.load(std::memory_order_relaxed);
  }
};

// `caches` is the sum over all of them, plus what came from none; `aged` counts objects moved from
// the depot to slabs; `outside` are live objects that somebody else serves (Heap::count_outside).
inline ClassStatistics class_statistics(uint64_t object_bytes, uint64_t slab_bytes,
                                        const AreaStatistics& area, const PoolShare& pool,
                                        const CacheStatistics& caches, uint64_t aged,
                                        uint64_t outside) {
  const auto minus = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  ClassStatistics c{};
  c.object_bytes = object_bytes;
  c.allocs = caches.allocated;
  c.cached_threads = caches.held;
  c.cached_depot = minus(caches.given, caches.taken + aged);
  c.cached_slabs = area.free_objects;
  c.live = std::min(minus(area.filled, area.drained + c.cached_threads + c.cached_depot) + outside,
                    c.allocs);
  c.frees = c.allocs - c.live;
  c.depot_takes = caches.takes;
  c.depot_gives = caches.gives;
  c.fills = area.fills;
  c.drains = area.drains;
  c.commits = pool.commits;
  c.purges = pool.purges;
  c.active_bytes = minus(area.slabs, area.empty_slabs) * slab_bytes + outside * object_bytes;
  c.free_bytes = area.empty_slabs * slab_bytes + pool.empty_bytes;
  c.committed_bytes = c.active_bytes + c.free_bytes;
  c.purged_bytes = pool.purged_total_bytes;
  c.populated_bytes = area.populated_slabs * slab_bytes;
  return c;
}

// Of blocks: how many were taken and given since start, bytes of those that are there.
inline ClassStatistics block_statistics(uint64_t taken, uint64_t given, uint64_t bytes,
                                        const PoolShare& pool) {
  const AreaStatistics area{taken, given, 0, 0, 0, bytes, 0, 0};  // "slabs" of a byte each
  return class_statistics(0, 1, area, pool, {0, 0, 0, 0, taken, 0}, 0, 0);
}

}  // namespace pktmalloc
