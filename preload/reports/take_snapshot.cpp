// SPDX-License-Identifier: MIT
#include "preload/reports/take_snapshot.h"

#include <unistd.h>

#include "preload/base/options.h"
#include "preload/contract/pktmalloc.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {

void take_snapshot(Snapshot& out) {
  out = Snapshot{};
  if (this_thread.forking) return;
  heap.statistics(out.heap);
  out.process.forks = fork_count().load(std::memory_order_relaxed);
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.passed[reason][band] = passed_counts[reason][band].load(std::memory_order_relaxed);
    }
  }
  sum_up(out);
}

Origin this_process() {
  return {program_name(), PKTMALLOC_VERSION, getpid(), clock_ns(CLOCK_REALTIME) / 1'000'000, 0};
}

void measure_resident(Snapshot& out) {
  if (!this_thread.forking) out.process.resident_bytes = heap.resident_bytes();
}

}  // namespace pktmalloc
