// SPDX-License-Identifier: MIT
// Inventory: a look at a process and what it tells of its live objects.
#pragma once

#include <string>

#include "tools/command/heap/census_table.h"
#include "tools/command/heap/subject.h"

namespace pktmalloc {

struct Inventory {
  Look look;
  Census census;

  // Throws Failure when the process cannot be looked at. It stands still for so long at the most.
  // `contents`: examples are shown.
  Inventory(const Subject& subject, double most_ms, bool contents);

  void compare_with(const Inventory& before);
  // Places have no calls before.
  void name_places(const Image& image, bool lines);
  // All rows as JSON.
  std::string json_text(const Subject& subject, const CensusTable& table) const;

 private:
  SampledObjects sampled_;
};

}  // namespace pktmalloc
