// SPDX-License-Identifier: MIT
// What waits in a depot, for tests.
#pragma once

#include "sizeclass/exchange/depot.h"

namespace pktmalloc::test {

// Full magazines of the class.
inline uint32_t depth(const Depot& depot, ClassId id) {
  uint32_t sum = depot.stack(id).depth();
  for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
    for (unsigned n = 0; n < Mail::kWords; ++n) {
      sum += Mail::is_full(depot.mail(id, home).word(n));
    }
  }
  return sum;
}

// One of them, the nearest to home 0; nullptr: there is none.
inline Magazine* take_any(Depot& depot, ClassId id) {
  uint8_t source = 0;
  return depot.take(id, 0, source, 0);
}

}  // namespace pktmalloc::test
