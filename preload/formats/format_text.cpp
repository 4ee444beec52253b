// SPDX-License-Identifier: MIT
// Statistics for people: totals, then a row per used class. Fits 100 columns.
#include "preload/formats/bytes.h"
#include "preload/formats/format.h"

namespace pktmalloc {
namespace {

void write_limit(Writer& out, const char* name, uint64_t limit, uint64_t used) {
  if (limit == 0) return;
  out.print("%-10s %-12s %s\n", name, Bytes(limit).text, Distance(used, limit).text);
}

}  // namespace

void write_text(Writer& out, const Origin& origin, const Snapshot& s) {
  const ProcessStatistics& p = s.process;
  out.print("---- pktmalloc %s: %s, process %d ----\n", origin.version, origin.program, origin.pid);
  if (s.heap.reserved_bytes == 0) {
    out.print(
        "nothing is pooled for want of addresses (is ulimit -v below 512 MiB?): the next allocator "
        "served everything\n");
  }
  out.print("allocated  %-12s in live objects: %llu allocs, %llu frees",
            Bytes(p.allocated_bytes).text, number(p.allocs), number(p.frees));
  if (p.block_bytes > 0) out.print("; %s in blocks", Bytes(p.block_bytes).text);
  out.print("\ncached     %-12s in threads, %s in the depot, %s in slabs\n",
            Bytes(p.cached_threads_bytes).text, Bytes(p.cached_depot_bytes).text,
            Bytes(p.cached_slabs_bytes).text);
  out.print("committed  %-12s = active %s + free %s; resident %s\n", Bytes(p.committed_bytes).text,
            Bytes(p.active_bytes).text, Bytes(p.free_bytes).text, Bytes(p.resident_bytes).text);
  if (origin.rss_bytes > 0) {
    out.print("process    %-12s resident in all, what is not ours included\n",
              Bytes(origin.rss_bytes).text);
  }
  out.print("purged     %-12s given back so far; %s waiting to go\n", Bytes(p.purged_bytes).text,
            Bytes(p.waiting_bytes).text);
  if (p.populated_bytes > 0) {
    out.print("populated  %-12s in advance, never given back\n", Bytes(p.populated_bytes).text);
  }
  write_limit(out, "limit", p.limit_bytes, p.limited_bytes);
  write_limit(out, "soft limit", p.soft_limit_bytes, p.limited_bytes);
  out.print("metadata   %s\n", Bytes(p.metadata_bytes).text);
  out.print("reserved   %-12s of addresses\n", Bytes(p.reserved_bytes).text);
  out.print("threads    %llu seen, %llu alive; %llu forks\n", number(p.threads_seen),
            number(p.threads_alive), number(p.forks));
  out.print("passed on  %llu request%s", number(p.passed), p.passed == 1 ? "" : "s");
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    uint64_t sum = 0;
    for (const uint64_t n : s.passed[reason]) sum += n;
    if (sum > 0) out.print(", %s %llu", kPassReasonNames[reason], number(sum));
  }
  out.print("\n%8s %12s %12s %9s %9s %9s %9s %9s %10s\n", "class", "allocs", "frees", "live",
            "threads", "depot", "slabs", "trips", "committed");
  for (unsigned i = 0; i < s.heap.classes; ++i) {
    const ClassStatistics& c = s.heap.of[i];
    if (c.allocs == 0 && c.fills == 0) continue;
    out.print("%8llu %12llu %12llu %9llu %9llu %9llu %9llu %9llu %10s\n", number(c.object_bytes),
              number(c.allocs), number(c.frees), number(c.live), number(c.cached_threads),
              number(c.cached_depot), number(c.cached_slabs),
              number(c.depot_takes + c.depot_gives + c.fills), Bytes(c.committed_bytes).text);
  }
}

}  // namespace pktmalloc
