// SPDX-License-Identifier: MIT
// ReportPage: statistics as a page of charts (page.h).
#pragma once

#include <string>
#include <vector>

#include "tools/command/report/series.h"

namespace pktmalloc {

// Of one process: over time, if there is more than one reading. Of several: side by side as they
// were last, then each over time. `flame_graph`: a page of one's heap, to be shown within; or "".
std::string page_of(const std::vector<Series>& all, const std::string& flame_graph = "");

}  // namespace pktmalloc
