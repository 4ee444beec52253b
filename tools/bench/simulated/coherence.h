// SPDX-License-Identifier: MIT
// Coherence: which cache lines go from processor to processor. Each has a cache without end, so a
// line comes only because another one wrote it, or has it when it is written.
#pragma once

#include <bit>
#include <cstdint>
#include <unordered_map>

#include "tools/bench/simulated/geometry.h"

namespace simulated {

constexpr unsigned kMostProcessors = 64;

struct Crossings {
  std::uint64_t near = 0;  // lines that came from a processor of the same node
  std::uint64_t far = 0;   // from another node
};

class Coherence {
 public:
  // The processors of a node have numbers next to each other.
  Coherence(unsigned processors, unsigned nodes) : processors_(processors), nodes_(nodes) {}

  unsigned node_of(unsigned processor) const { return processor * nodes_ / processors_; }

  // A reference to one line. A line that a processor reads comes from whoever wrote it last. One
  // that it writes comes from there as well, unless it has it; then the copies of others must go,
  // which takes as long.
  void reference(std::uint64_t line, unsigned processor, bool writes, Crossings& crossings) {
    const std::uint64_t me = std::uint64_t{1} << processor;
    auto [found, is_new] = lines_.try_emplace(line);
    Line& state = found->second;
    if (!is_new) {
      const std::uint64_t others = state.holders & ~me;
      if ((state.holders & me) == 0) {
        count(processor, state.writer, crossings);
      } else if (writes && others != 0) {
        count(processor, farthest(processor, others), crossings);
      }
    }
    state.holders = writes ? me : state.holders | me;
    if (writes || is_new) state.writer = static_cast<std::uint8_t>(processor);
  }

 private:
  struct Line {
    std::uint64_t holders = 0;  // a bit a processor
    std::uint8_t writer = 0;    // the latest one; before the first, whoever read it first
  };

  unsigned farthest(unsigned processor, std::uint64_t others) const {
    unsigned other = 0;
    for (; others != 0; others &= others - 1) {
      other = static_cast<unsigned>(std::countr_zero(others));
      if (node_of(other) != node_of(processor)) break;
    }
    return other;
  }

  void count(unsigned processor, unsigned other, Crossings& crossings) const {
    ++(node_of(processor) == node_of(other) ? crossings.near : crossings.far);
  }

  unsigned processors_, nodes_;
  std::unordered_map<std::uint64_t, Line> lines_;
};

}  // namespace simulated
