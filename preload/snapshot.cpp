// SPDX-License-Identifier: MIT
#include "preload/snapshot.h"

#include "preload/process.h"
#include "preload/thread.h"

namespace pktmalloc {

void take_snapshot(Snapshot& out) {
  out = Snapshot{};
  if (this_thread.forking) return;
  heap.statistics(out.heap);
  ProcessStatistics& p = out.process;
  for (unsigned i = 0; i < out.heap.classes; ++i) {
    const ClassStatistics& c = out.heap.of[i];
    p.allocated_bytes += c.live * c.object_bytes;
    p.cached_threads_bytes += c.cached_threads * c.object_bytes;
    p.cached_depot_bytes += c.cached_depot * c.object_bytes;
    p.cached_slabs_bytes += c.cached_slabs * c.object_bytes;
    p.active_bytes += c.active_bytes;
    p.free_bytes += c.free_bytes;
    p.committed_bytes += c.committed_bytes;
    p.purged_bytes += c.purged_bytes;
    p.allocs += c.allocs;
    p.frees += c.frees;
  }
  p.metadata_bytes = out.heap.metadata_bytes;
  p.reserved_bytes = out.heap.reserved_bytes;
  p.waiting_bytes = out.heap.waiting_bytes;
  p.threads_seen = out.heap.threads_seen;
  p.threads_alive = out.heap.threads_alive;
  p.forks = forks();
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.passed[reason][band] = passed(static_cast<PassReason>(reason), band);
      p.passed += out.passed[reason][band];
    }
  }
}

void measure_resident(Snapshot& out) {
  if (!this_thread.forking) out.process.resident_bytes = heap.resident_bytes();
}

}  // namespace pktmalloc
