// SPDX-License-Identifier: MIT
// HeapWindow: where the counters of a running heap lie, for a reader outside the process that
// copies them without stopping it (`pktmalloc stat` and `top`), and what tells its free objects
// (`objects`, `leaks`).
//
// Addresses are those of the heap's process; sizes are in bytes. The reader sums over areas and
// caches as Heap::statistics() does and uses the same class_statistics(). Nobody waits for it and
// it holds no lock, so it may read in the middle of a change: each number is right by itself.
// Changing any of these structs needs a new kWindowSchema (preload/formats/live_window.h).
#pragma once

#include <cstdint>

#include "sizeclass/base/class_id.h"
#include "sizeclass/heap/cache.h"
#include "sizeclass/slabs/slab_pool.h"

namespace pktmalloc {

struct HeapWindow {
  uint64_t classes;
  uint64_t object_bytes[kMaxClasses];
  uint64_t slab_bytes[kMaxClasses];

  uint64_t units;                // the address of the first one
  uint64_t pool, magazine_pool;  // SlabPool::Counts
  uint64_t states_bytes;         // a word

  uint64_t areas[kMaxClasses];   // AreaStatistics of each class
  uint64_t shares[kMaxClasses];  // PoolShare of each class
  uint64_t block_share;          // and of blocks
  uint64_t caches;               // the pointer to the first Cache
  uint64_t direct_allocs;        // one word a class: objects that came from no cache
  uint64_t aged;                 // one word a class: objects moved from the depot to slabs
  uint64_t outside;              // one word a class: live objects that somebody else serves
  uint64_t cache_committed_bytes, waiting_bytes, threads_seen, threads_alive;  // a word each
  uint64_t limit;   // MemoryLimit::Counts
  uint64_t caller;  // a byte that is 1 to call a thread (due.h)

  // Which objects are free; read while the process is stopped.
  uint64_t map;                     // SlabPool::Entry of unit 0, from which units count
  uint64_t records, chapter_bytes;  // see SlabPool::record_at()
  uint64_t states[kMaxClasses];     // ObjectStates::Place::words of each class; 0: none
  uint64_t magazines;               // from which their ids count
  uint64_t magazine_units;          // the address of the first one
  uint64_t depots;                  // a ShardedStack a class
  uint64_t mails;                   // a Mail for each of kShards homes and kMaxClasses classes
  uint64_t ageing;                  // a 32-bit word that is not 0 while magazines age
};

}  // namespace pktmalloc
