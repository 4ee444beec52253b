// SPDX-License-Identifier: MIT
// One core: what every reference of a program to its memory meets. Instructions are counted, not
// fetched. Threads take turns on the core and share all it has.
#pragma once

#include <cstdint>

#include "tools/bench/simulated/translation.h"

namespace simulated {

class Core {
 public:
  void execute() { ++instructions_; }

  // A load or a store of so many bytes, at least one. If it reaches into a second line, or into a
  // second page, that is looked up as well.
  void reference(std::uint64_t address, std::uint64_t bytes) {
    ++references_;
    for (std::uint64_t line = address >> kLineShift; line <= (address + bytes - 1) >> kLineShift;
         ++line) {
      const std::uint64_t frame = translation_.frame(line >> kLineOfPageShift);
      const std::uint64_t line_of_page = line & ((1u << kLineOfPageShift) - 1);
      caches_.access(frame << kLineOfPageShift | line_of_page, data_misses_);
    }
  }

  // These bytes are given back to the system: every page that lies wholly among them.
  void release(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t page = std::uint64_t{1} << kPageShift;
    const std::uint64_t first = (address + page - 1) >> kPageShift;
    const std::uint64_t last = (address + bytes) >> kPageShift;
    if (first < last) translation_.release(first, last);
  }

  std::uint64_t instructions() const { return instructions_; }
  std::uint64_t references() const { return references_; }
  const CacheMisses& data_misses() const { return data_misses_; }
  const TranslationCounts& translation() const { return translation_.counts(); }

  // As if nothing overlapped: no miss with another, none with work. So it is no prediction of a
  // time, but the same weights for all.
  double cycles() const {
    return kInstructionCycles * static_cast<double>(instructions_) + data_misses_.cycles() +
           translation().cycles();
  }

 private:
  static constexpr unsigned kLineOfPageShift = kPageShift - kLineShift;

  Caches caches_;
  Translation translation_{caches_};
  CacheMisses data_misses_;
  std::uint64_t instructions_ = 0, references_ = 0;
};

}  // namespace simulated
