// SPDX-License-Identifier: MIT
// The sums are those of Heap::statistics(), sizeclass/heap/heap_statistics.cpp.
#include "tools/command/live/live_counters.h"

#include <algorithm>
#include <vector>

#include "sizeclass/exchange/magazine.h"
#include "tools/command/live/remote_cache.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kRoundsMost = rounds_of_size(kMagazineSizes - 1);

// What lies at fixed places.
struct Counters {
  AreaStatistics areas[kMaxClasses];
  PoolShare shares[kMaxClasses], block_share;
  SlabPool::Counts pool, magazine_pool;
  uint64_t states_bytes;
  uint64_t direct_allocs[kMaxClasses], aged[kMaxClasses], outside[kMaxClasses];
  uint64_t first_cache, cache_committed_bytes, waiting_bytes, threads_seen, threads_alive;
  MemoryLimit::Counts limit;
};

void copy_counters(const HeapWindow& w, const RemoteMemory& memory, Counters& to) {
  std::vector<RemoteMemory::Piece> pieces;
  const auto add = [&](uint64_t address, auto& value, size_t bytes = sizeof value) {
    pieces.push_back({address, &value, bytes});
  };
  const size_t words = w.classes * sizeof(uint64_t);
  add(w.caches, to.first_cache);
  add(w.cache_committed_bytes, to.cache_committed_bytes);
  add(w.waiting_bytes, to.waiting_bytes);
  add(w.threads_seen, to.threads_seen);
  add(w.threads_alive, to.threads_alive);
  add(w.limit, to.limit);
  add(w.direct_allocs, to.direct_allocs, words);
  add(w.aged, to.aged, words);
  add(w.outside, to.outside, words);
  for (unsigned i = 0; i < w.classes; ++i) add(w.areas[i], to.areas[i]);
  for (unsigned i = 0; i < w.classes; ++i) add(w.shares[i], to.shares[i]);
  add(w.block_share, to.block_share);
  add(w.pool, to.pool);
  add(w.magazine_pool, to.magazine_pool);
  add(w.states_bytes, to.states_bytes);
  memory.copy_all(pieces);
}

// Sums over the caches of a process.
class CacheSums {
 public:
  CacheSums(const HeapWindow& window, const RemoteMemory& memory)
      : window_(window), memory_(memory) {}

  void read(uint64_t first, uint64_t bytes) {
    each_cache(memory_, first, bytes, [&](const RemoteCache& cache) { add(cache); });
  }

  CacheStatistics of[kMaxClasses]{};
  uint64_t tallies[kTallies]{};

 private:
  void add(const RemoteCache& cache) {
    for (unsigned i = 0; i < kTallies; ++i) tallies[i] += cache.tally(i);
    for (unsigned i = 0; i < window_.classes; ++i) {
      cache.add_trips(i, of[i]);
      if (const uint64_t loaded = cache.loaded(i); loaded != 0) {
        const uint64_t rounds = (cache.top(i) - (loaded + sizeof(Magazine))) / sizeof(uint64_t);
        if (rounds <= kRoundsMost) of[i].held += rounds;
      }
      const uint64_t previous = cache.previous_rounds(i);
      if (previous <= kRoundsMost) of[i].held += previous;
    }
  }

  const HeapWindow& window_;
  const RemoteMemory& memory_;
};

void read_heap(const HeapWindow& w, const RemoteMemory& memory, HeapStatistics& out) {
  Counters counters{};
  copy_counters(w, memory, counters);
  CacheSums sums(w, memory);
  sums.read(counters.first_cache, counters.cache_committed_bytes);
  out.classes = static_cast<unsigned>(w.classes);
  for (unsigned i = 0; i < w.classes; ++i) {
    sums.of[i].allocated += counters.direct_allocs[i];
    out.of[i] =
        class_statistics(w.object_bytes[i], w.slab_bytes[i], counters.areas[i], counters.shares[i],
                         sums.of[i], counters.aged[i], counters.outside[i]);
  }
  out.blocks = block_statistics(counters.pool.blocks_taken, counters.pool.blocks_given,
                                counters.pool.block_bytes, counters.block_share);
  std::copy(std::begin(sums.tallies), std::end(sums.tallies), out.tallies);
  const uint64_t others = counters.states_bytes + counters.cache_committed_bytes;
  out.metadata_bytes = counters.pool.bookkeeping + counters.magazine_pool.bookkeeping +
                       counters.magazine_pool.open + others;
  out.reserved_bytes = counters.pool.mapped + counters.magazine_pool.mapped + others;
  out.waiting_bytes = counters.waiting_bytes;
  out.threads_seen = counters.threads_seen;
  out.threads_alive = counters.threads_alive;
  out.use(counters.limit);
}

}  // namespace

void read_counters(const Window& window, const RemoteMemory& memory, Snapshot& out) {
  out = Snapshot{};
  const RemoteMemory::Piece pieces[] = {
      {window.passed, out.passed, sizeof out.passed},
      {window.forks, &out.process.forks, sizeof out.process.forks},
  };
  memory.copy_all(pieces);
  if (window.heap.classes > 0) read_heap(window.heap, memory, out.heap);
  sum_up(out);
}

}  // namespace pktmalloc
