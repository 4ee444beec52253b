// SPDX-License-Identifier: MIT
// Statistics as JSON for programs: of each process each reading, by place and class, as the tables
// have them.
#pragma once

#include <string>
#include <vector>

#include "tools/command/report/series.h"

namespace pktmalloc {

std::string json_of(const std::vector<Series>& all);

}  // namespace pktmalloc
