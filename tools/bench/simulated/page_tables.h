// SPDX-License-Identifier: MIT
// The tables of pages of a guest or of its host, four levels, and the caches of their upper
// entries.
//
// A walk looks for the lowest entry that a cache remembers and reads those below it: one if the
// entry of the second level is remembered, four if none is.
#pragma once

#include <cstdint>

#include "tools/bench/simulated/geometry.h"

namespace simulated {

// A table is named by its level, 1 the lowest, and the part of the page's number that leads to it.
struct TableEntry {
  std::uint64_t table;  // no two tables of one tree have the same, nor a table and a page
  std::uint64_t index;
};

class PageTables {
 public:
  // Calls read(TableEntry) for every entry that has to be read to translate the page, from the top.
  template <typename Read>
  void walk(std::uint64_t page, Read&& read) {
    unsigned level = 1;
    while (level < kLevels && !caches_[level - 1].access(page >> kLevelShift * level)) ++level;
    for (; level > 0; --level) read(entry(page, level));
  }

 private:
  static constexpr unsigned kTagShift = 56;  // above the number of any page

  static TableEntry entry(std::uint64_t page, unsigned level) {
    const std::uint64_t tag = std::uint64_t{level} << kTagShift;
    return {tag | page >> kLevelShift * level,
            page >> kLevelShift * (level - 1) & ((1u << kLevelShift) - 1)};
  }

  // That of level n + 2 at n: its entries lead to tables of level n + 1.
  SetAssociative caches_[kLevels - 1] = {SetAssociative(kWalkCaches[0]),
                                         SetAssociative(kWalkCaches[1]),
                                         SetAssociative(kWalkCaches[2])};
};

}  // namespace simulated
