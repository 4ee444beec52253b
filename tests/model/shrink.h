// SPDX-License-Identifier: MIT
// Shrinking: makes a list that fails as short, and its numbers as small, as can be had cheaply.
//
// Leaves out ever smaller stretches while the rest still fails (Zeller & Hildebrandt 2002), then
// replaces numbers by smaller ones. Any list must be valid input. A failure that ends the process
// (a double free that the heap itself finds) cannot be shrunk: its seed is told, and tests/fuzz
// can.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/model/random.h"

namespace pktmalloc::test {

template <typename Number, typename Fails>
std::vector<Number> shrink(std::vector<Number> list, Fails&& fails, unsigned tries = 2000) {
  const auto better = [&](const std::vector<Number>& candidate) {
    if (tries == 0) return false;
    --tries;
    if (!fails(candidate)) return false;
    list = candidate;
    return true;
  };
  for (size_t stretch = std::max<size_t>(list.size() / 2, 1); tries > 0; stretch /= 2) {
    for (size_t from = 0; from < list.size();) {
      std::vector<Number> candidate = list;
      const auto begin = candidate.begin() + static_cast<ptrdiff_t>(from);
      candidate.erase(begin, begin + static_cast<ptrdiff_t>(std::min(stretch, list.size() - from)));
      if (!better(candidate)) from += stretch;
    }
    if (stretch <= 1) break;
  }
  for (size_t n = 0; n < list.size(); ++n) {
    for (const Number smaller :
         {Number{0}, static_cast<Number>(list[n] % 16), static_cast<Number>(list[n] % 4096)}) {
      std::vector<Number> candidate = list;
      candidate[n] = smaller;
      if (smaller < list[n] && better(candidate)) break;
    }
  }
  return list;
}

template <typename Number>
std::string listed(const std::vector<Number>& list) {
  std::string text = std::to_string(list.size()) + " numbers:";
  for (const Number number : list) text += ' ' + std::to_string(number);
  return text;
}

// Runs `run(Random&)`, which answers nullptr or what was wrong, with every seed. The answer, empty
// when nothing was wrong: the seed, what was wrong, and the shortest draws that end likewise.
template <typename Run>
std::string first_failure(unsigned fixed_seeds, Run&& run) {
  for (const uint64_t seed : seeds(fixed_seeds)) {
    Random random(seed);
    const char* const wrong = run(random);
    if (wrong == nullptr) continue;
    const Draws few = shrink(random.draws(), [&](const Draws& draws) {
      Random again(draws);
      return run(again) != nullptr;
    });
    return std::string(wrong) + ", seed " + std::to_string(seed) + ", shrunk to " + listed(few);
  }
  return {};
}

}  // namespace pktmalloc::test
