// SPDX-License-Identifier: MIT
// CensusTable: a census as people and programs read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/command/heap/census.h"

namespace pktmalloc {

enum class CensusOrder { kBytes, kObjects, kSize, kType, kGrown };

struct CensusTable {
  CensusOrder order = CensusOrder::kBytes;
  bool grown = false;  // has columns for it; rows that are as before are left out
  size_t most = 20;    // rows of each part

  std::string text(const Census& census) const;
  nlohmann::ordered_json json(const Census& census) const;  // all rows
};

void sort(std::vector<Count>& counts, CensusOrder order);

}  // namespace pktmalloc
