// SPDX-License-Identifier: MIT
// Series: the readings of one process over time, the oldest first; and what several readings are
// together.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/command/reading.h"

namespace pktmalloc {

struct Series {
  std::string program;
  int pid = 0;
  std::vector<Reading> readings;  // one at least

  const Reading& first() const { return readings.front(); }
  const Reading& last() const { return readings.back(); }
  std::string name() const;  // "redis-server 4711"
};

// One series for each program and process id, in the order of their first readings. Readings of the
// same second are in the order of what had been allocated and freed by then.
std::vector<Series> series_of(std::vector<Reading> readings);

// Every number summed; classes by their size. A reading of no process, at the time of the latest.
Reading sum_of(const std::vector<Series>& all);

// At most so many readings: of each stretch of time the one with the most memory; first and last
// stay.
Series thinned(const Series& series, size_t most);

// Those classes that were ever used, by the order of `before`.
std::vector<ClassStatistics> used_classes(const Snapshot& snapshot,
                                          bool (*before)(const ClassStatistics&,
                                                         const ClassStatistics&));

// The class of that size, or one of zeros.
ClassStatistics class_of_size(const Snapshot& snapshot, uint64_t object_bytes);

// The classes that one of both used, each as it was in the one and in the other; ascending by size.
std::vector<std::pair<ClassStatistics, ClassStatistics>> pairs_of_classes(const Snapshot& before,
                                                                          const Snapshot& after);

}  // namespace pktmalloc
