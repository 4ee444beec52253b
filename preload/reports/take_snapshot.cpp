// SPDX-License-Identifier: MIT
#include "preload/reports/take_snapshot.h"

#include <time.h>
#include <unistd.h>

#include "preload/base/options.h"
#include "preload/contract/pktmalloc.h"
#include "preload/process/passed_requests.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"

namespace pktmalloc {

void take_snapshot(Snapshot& out) {
  out = Snapshot{};
  if (this_thread.forking) return;
  heap.statistics(out.heap);
  out.process.forks = fork_count().load(std::memory_order_relaxed);
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.passed[reason][band] = passed_counts()[reason][band].load(std::memory_order_relaxed);
    }
  }
  sum_up(out);
}

Origin this_process() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t ms =
      static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
  return {program_name(), PKTMALLOC_VERSION, getpid(), ms, 0};
}

void measure_resident(Snapshot& out) {
  if (!this_thread.forking) out.process.resident_bytes = heap.resident_bytes();
}

}  // namespace pktmalloc
