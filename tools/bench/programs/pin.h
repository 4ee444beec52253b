// SPDX-License-Identifier: MIT
// Where a thread runs, for programs in which that decides more than the allocator does.
#pragma once

#include <sched.h>

namespace workload {

// Keeps the calling thread on the first (0) or the second (1) CPU that the process may use; where
// it may use only one, does nothing.
inline void pin(int which) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (CPU_COUNT(&cpus) < 2) return;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &cpus) || which-- > 0) ++cpu;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

}  // namespace workload
