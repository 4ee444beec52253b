// SPDX-License-Identifier: MIT
// RemoteCache: a thread's free lists (sizeclass/heap/cache.h) as they were in another process.
// Classes count from 0 here, as in the window.
#pragma once

#include <cstdint>
#include <functional>

#include "preload/formats/live_window.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

class RemoteCache {
 public:
  // `copy` outlives it; its pointers are those of the other process.
  RemoteCache(uint64_t address, const Cache& copy) : address_(address), cache_(copy) {}

  uint64_t address() const { return address_; }
  uint64_t next() const { return number(cache_.next); }
  uint64_t allocated(unsigned of) const { return cache_.allocated_[of + 1]; }
  uint64_t top(unsigned of) const { return number(cache_.tops_[of + 1]); }
  // Magazines; 0: none.
  uint64_t loaded(unsigned of) const { return number(line(of).loaded); }
  uint64_t previous(unsigned of) const { return number(line(of).previous); }
  // Objects in that one.
  uint64_t previous_rounds(unsigned of) const { return line(of).previous_rounds; }
  void add_trips(unsigned of, CacheStatistics& sum) const {
    const Cache::Line& l = line(of);
    sum.taken += l.taken;
    sum.given += l.given;
    sum.takes += l.takes;
    sum.gives += l.gives;
    sum.allocated += allocated(of);
  }
  uint64_t tally(unsigned n) const { return cache_.tallies_[n]; }
  uint64_t marks() const { return number(cache_.marks); }
  bool is_changing() const { return cache_.changing_; }

 private:
  static uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
  const Cache::Line& line(unsigned of) const { return cache_.lines_[of + 1]; }

  uint64_t address_;
  const Cache& cache_;
};

// Calls visit(cache) for each of the list that begins with the cache at `first`, of `bytes` in all
// at most.
void each_cache(const RemoteMemory& memory, uint64_t first, uint64_t bytes,
                const std::function<void(const RemoteCache&)>& visit);

}  // namespace pktmalloc
