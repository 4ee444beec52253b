// SPDX-License-Identifier: MIT
// Random: what a model test decides by, and the seeds it runs with: a fixed set, so that a failure
// comes again, and one that differs every time and is named when it fails.
//
// Every number drawn is written down, and a list of such numbers can be drawn again instead of a
// seed's: that is what makes a failure smaller (shrink.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace pktmalloc::test {

using Draws = std::vector<uint64_t>;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Draws these, then zeros.
  explicit Random(Draws draws) : draws_(std::move(draws)), given_(true) {}

  // 0 <= answer < limit.
  uint32_t below(uint64_t limit) { return static_cast<uint32_t>(draw(limit)); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  // Mostly small, seldom up to limit.
  uint32_t mostly_small(uint32_t limit) { return below(below(limit + uint64_t{1}) + 1); }
  uint8_t byte() { return static_cast<uint8_t>(draw(256)); }

  // All draws of a list were drawn: the run may end.
  bool over() const { return given_ && next_ >= draws_.size(); }
  const Draws& draws() const { return draws_; }

 private:
  uint64_t draw(uint64_t limit) {
    if (given_) return next_ < draws_.size() ? draws_[next_++] % limit : 0;
    draws_.push_back(engine_() % limit);
    return draws_.back();
  }

  std::mt19937_64 engine_;
  Draws draws_;
  bool given_ = false;
  size_t next_ = 0;
};

inline std::vector<uint64_t> seeds(unsigned fixed) {
  std::vector<uint64_t> all;
  for (unsigned n = 1; n <= fixed; ++n) all.push_back(n);
  all.push_back(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  return all;
}

}  // namespace pktmalloc::test
