// SPDX-License-Identifier: MIT
// ReportTable: statistics for people, in 80 columns. Each function gives whole lines.
#pragma once

#include <string>
#include <vector>

#include "tools/command/report/series.h"

namespace pktmalloc {

// Where the memory is, then the classes by committed bytes.
std::string table_of(const Reading& reading);
// What changed from the one to the other, by place and by class, the largest growth first.
std::string table_of_change(const Reading& before, const Reading& after);
// A row for each reading; then what changed from the first to the last.
std::string table_of_series(const Series& series);
// A row for each process, as it was last, and their sum.
std::string table_of_processes(const std::vector<Series>& all);

}  // namespace pktmalloc
