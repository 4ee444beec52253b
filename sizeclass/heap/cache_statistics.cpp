// SPDX-License-Identifier: MIT
// What others may know of a cache.
#include "sizeclass/heap/cache.h"

namespace pktmalloc {

// May run while the owner works: each value is one aligned word, and a top outside the magazine it
// is compared with counts as empty.
CacheStatistics Cache::statistics(ClassId id) const {
  const Line& line = lines_[index(id)];
  CacheStatistics s{};
  s.allocated = allocated_[index(id)].seen();
  s.taken = line.taken.seen();
  s.given = line.given.seen();
  s.takes = line.takes.seen();
  s.gives = line.gives.seen();
  if (Magazine* loaded = line.loaded.seen()) {
    const uintptr_t rounds = static_cast<uintptr_t>(tops_[index(id)].seen() - loaded->slots());
    if (rounds <= loaded->capacity.seen()) s.held += rounds;
  }
  s.held += line.previous_rounds.seen();
  return s;
}

Cache::Shape Cache::shape() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // which is what every compiler has
  static_assert(offsetof(Cache, tops_) == kTopsAt && offsetof(Cache, allocated_) == kAllocatedAt);
#pragma GCC diagnostic pop
  const Cache& cache = kNullCache;
  const auto place = [&](const void* field) {
    return static_cast<uint64_t>(static_cast<const char*>(field) -
                                 reinterpret_cast<const char*>(&cache));
  };
  const Line& line = cache.lines_[1];
  const uint64_t lines = place(&line);
  return {place(&cache.next),
          place(&cache.tops_[1]),
          place(&cache.allocated_[1]),
          lines,
          sizeof(Line),
          place(&line.loaded) - lines,
          place(&line.previous) - lines,
          place(&line.previous_rounds) - lines,
          place(&line.taken) - lines,
          place(cache.tallies_),
          place(&cache.marks),
          place(&cache.changing_)};
}

}  // namespace pktmalloc
