// SPDX-License-Identifier: MIT
// Three levels of data caches. A line that is missing is brought into every level. What is written
// back is not counted, and nothing is fetched ahead of its use.
#pragma once

#include <cstdint>

#include "tools/bench/simulated/geometry.h"

namespace simulated {

// How many references did not find their line in each level.
struct CacheMisses {
  std::uint64_t first = 0, second = 0, last = 0;

  double cycles() const {
    return kSecondCacheCycles * static_cast<double>(first) +
           kLastCacheCycles * static_cast<double>(second) +
           kMemoryCycles * static_cast<double>(last);
  }
};

class Caches {
 public:
  // The set in the first level depends on bits within a page only, so the physical number of the
  // line serves all levels.
  void access(std::uint64_t line, CacheMisses& misses) {
    if (first_.access(line)) return;
    ++misses.first;
    if (second_.access(line)) return;
    ++misses.second;
    if (!last_.access(line)) ++misses.last;
  }

  // The kernel has written the line: it is in the larger levels, and nobody waited for it.
  void fill(std::uint64_t line) {
    second_.access(line);
    last_.access(line);
  }

 private:
  static_assert(kFirstCache.sets << kLineShift <= 1u << kPageShift);
  SetAssociative first_{kFirstCache}, second_{kSecondCache}, last_{kLastCache};
};

}  // namespace simulated
