// SPDX-License-Identifier: MIT
#include "tools/command/compare/samples.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace pktmalloc {
namespace {

constexpr double kLevel = 0.01;
constexpr size_t kExactMost = 20;  // values of one; for more the normal distribution is as good

// In how many of the pairs (x of a, y of b) x is not below y; ties count against the claim.
size_t inversions(const std::vector<double>& a, const std::vector<double>& b) {
  size_t count = 0;
  for (const double y : b) {
    count += static_cast<size_t>(a.end() - std::lower_bound(a.begin(), a.end(), y));
  }
  return count;
}

// Of all orders of m and n equal things, the share that has u inversions or fewer.
double exact(size_t m, size_t n, size_t u) {
  // orders[j][k]: of i and j things with k inversions, for growing i.
  std::vector<std::vector<double>> orders(n + 1, std::vector<double>(m * n + 1));
  for (auto& of : orders) of[0] = 1;  // i = 0
  for (size_t i = 1; i <= m; ++i) {
    for (size_t j = 1; j <= n; ++j) {
      // The largest is one of the i, above all j, or one of the j.
      for (size_t k = m * n + 1; k-- > 0;) {
        orders[j][k] = (k >= j ? orders[j][k - j] : 0) + orders[j - 1][k];
      }
    }
  }
  double below = 0;
  double all = 0;
  for (size_t k = 0; k <= m * n; ++k) {
    all += orders[n][k];
    if (k <= u) below += orders[n][k];
  }
  return below / all;
}

double normal(size_t m, size_t n, size_t u) {
  const double pairs = static_cast<double>(m * n);
  const double deviation = std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
  return std::erfc((pairs / 2 - static_cast<double>(u) - 0.5) / deviation / std::sqrt(2.0)) / 2;
}

// The 97.5th percentile of Student's distribution.
double student(size_t freedom) {
  constexpr double kSmall[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= std::size(kSmall)) return kSmall[freedom - 1];
  return 1.96 + 2.4 / static_cast<double>(freedom);  // off by less than a thousandth
}

}  // namespace

Samples::Samples(std::vector<double> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end());
}

double Samples::median() const {
  const size_t half = values_.size() / 2;
  return values_.size() % 2 == 1 ? values_[half] : (values_[half - 1] + values_[half]) / 2;
}

double Samples::mean() const {
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double Samples::interval() const {
  if (values_.size() < 2) return 0;
  const auto count = static_cast<double>(values_.size());
  const double middle = mean();
  double squares = 0;
  for (const double value : values_) squares += (value - middle) * (value - middle);
  return student(values_.size() - 1) * std::sqrt(squares / (count - 1) / count);
}

bool differ(const Samples& a, const Samples& b) {
  const size_t m = a.values().size();
  const size_t n = b.values().size();
  const size_t u = std::min(inversions(a.values(), b.values()), inversions(b.values(), a.values()));
  const double share = m <= kExactMost && n <= kExactMost ? exact(m, n, u) : normal(m, n, u);
  return 2 * share < kLevel;
}

}  // namespace pktmalloc
