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

}  // namespace pktmalloc
