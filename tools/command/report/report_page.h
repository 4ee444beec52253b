// SPDX-License-Identifier: MIT
// ReportPage: statistics as a page of charts (page.h).
#pragma once

#include <string>
#include <vector>

#include "tools/command/report/series.h"

namespace pktmalloc {

// What holds the memory of one process, as far as it is known.
struct Holders {
  std::string flame_graph;                      // a page, to be shown within; or ""
  std::string types_when;                       // "after 12.3 s"
  std::vector<std::vector<std::string>> types;  // type, objects, bytes and share; the most first
};

// Of one process: over time, if there is more than one reading. Of several: side by side as they
// were last, then each over time.
std::string page_of(const std::vector<Series>& all, const Holders& holders = {});

}  // namespace pktmalloc
