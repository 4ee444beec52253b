// SPDX-License-Identifier: MIT
// Fleet: the statistics of all processes of this user that have the library, as Prometheus text.
//
// Metrics are those of preload/formats/statistics.def, with labels for process id, program and
// unit. What a scrape costs and how much it tells are bounded: of the processes and of each one's
// classes the largest are told, and how many were left out.
#pragma once

#include <string>

namespace pktmalloc {

struct FleetLimits {
  unsigned processes = 100;
  unsigned classes = 16;  // a process
};

std::string fleet_metrics(const FleetLimits& limits);

}  // namespace pktmalloc
