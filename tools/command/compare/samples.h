// SPDX-License-Identifier: MIT
// Samples: what was measured in several runs of the same; and whether two such differ by more than
// chance.
#pragma once

#include <cstddef>
#include <vector>

namespace pktmalloc {

class Samples {
 public:
  Samples() = default;
  explicit Samples(std::vector<double> values);

  bool empty() const { return values_.empty(); }
  double median() const;
  double mean() const;
  // The mean lies within so much in 95 of 100 cases, by Student's t; 0 of a single value.
  double interval() const;
  double least() const { return values_.front(); }
  double most() const { return values_.back(); }
  const std::vector<double>& values() const { return values_; }  // ascending

 private:
  std::vector<double> values_;
};

// The rank sum test of Mann and Whitney, two-sided, at 1 in 100: had the two the same distribution,
// their values would mix more than these do in 99 of 100 cases. It assumes nothing of the shape,
// and one run that was disturbed does not upset many others. With five runs each every value of one
// must be below every value of the other; with fewer nothing can be told.
inline constexpr size_t kFewestRuns = 5;
bool differ(const Samples& a, const Samples& b);

}  // namespace pktmalloc
