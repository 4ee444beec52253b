// SPDX-License-Identifier: MIT
// Random: what a model test decides by, and the seeds it runs with: a fixed set, so that a failure
// comes again, and one that differs every time and is named when it fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace pktmalloc::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // 0 <= answer < limit.
  uint32_t below(uint64_t limit) { return static_cast<uint32_t>(engine_() % limit); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  // Mostly small, seldom up to limit.
  uint32_t mostly_small(uint32_t limit) { return below(below(limit + uint64_t{1}) + 1); }
  uint8_t byte() { return static_cast<uint8_t>(engine_()); }

 private:
  std::mt19937_64 engine_;
};

inline std::vector<uint64_t> seeds(unsigned fixed) {
  std::vector<uint64_t> all;
  for (unsigned n = 1; n <= fixed; ++n) all.push_back(n);
  all.push_back(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  return all;
}

}  // namespace pktmalloc::test
