// SPDX-License-Identifier: MIT
// The exports that inspect or tune the heap: glibc's malloc_trim, mallinfo and relatives, and the
// functions of pktmalloc.h.
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "preload/base/export.h"
#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/contract/pktmalloc.h"
#include "preload/formats/format.h"
#include "preload/process/next_allocator.h"
#include "preload/process/thread.h"
#include "preload/recording/profile.h"
#include "preload/reports/report.h"

namespace {

using namespace pktmalloc;

// Zeros when the system refuses memory for a snapshot.
ProcessStatistics totals() {
  const Mapped<Snapshot> s;
  if (!s) return {};
  take_snapshot(*s);
  return s->process;
}

// Samples of the heap profile count as ours and are the next allocator's: its count of them stands.
struct mallinfo2 both_heaps() {
  ProcessStatistics ours = totals();
  if (profiling()) {
    const uint64_t theirs = std::min(heap.outside_bytes(), ours.allocated_bytes);
    ours.committed_bytes -= theirs;
    ours.allocated_bytes -= theirs;
  }
  struct mallinfo2 info = next_allocator().process().mallinfo2();
  info.arena += ours.committed_bytes;
  info.uordblks += ours.allocated_bytes;
  info.fordblks += ours.committed_bytes - ours.allocated_bytes;
  return info;
}

uint64_t trim() {
  if (this_thread.forking) return 0;
  return heap.trim(cache_of_this_thread(), this_thread.release_cache);
}

}  // namespace

extern "C" {

PKTMALLOC_EXPORT int malloc_trim(size_t pad) {
  const bool ours = trim() > 0;
  return next_allocator().process().malloc_trim(pad) || ours ? 1 : 0;
}

PKTMALLOC_EXPORT void malloc_stats() { report_now(); }

// glibc's XML, as far as it has words for us; the rest is in our own statistics.
PKTMALLOC_EXPORT int malloc_info(int options, FILE* stream) {
  if (options != 0) return errno = EINVAL, -1;
  const Mapped<Snapshot> s;
  if (!s) return -1;
  take_snapshot(*s);
  fprintf(stream, "<malloc version=\"pktmalloc-%s\">\n<heap nr=\"0\">\n<sizes>\n",
          PKTMALLOC_VERSION);
  for (unsigned i = 0; i < s->heap.classes; ++i) {
    const ClassStatistics& c = s->heap.of[i];
    const auto size = number(c.object_bytes);
    const auto free = number(c.cached_threads + c.cached_depot + c.cached_slabs);
    if (free == 0) continue;
    fprintf(stream, "<size from=\"%llu\" to=\"%llu\" total=\"%llu\" count=\"%llu\"/>\n", size, size,
            size * free, free);
  }
  fprintf(stream, "</sizes>\n</heap>\n<system type=\"current\" size=\"%llu\"/>\n</malloc>\n",
          number(s->process.committed_bytes));
  return 0;
}

PKTMALLOC_EXPORT struct mallinfo2 mallinfo2() { return both_heaps(); }

PKTMALLOC_EXPORT struct mallinfo mallinfo() {
  const struct mallinfo2 wide = both_heaps();
  struct mallinfo info {};
  static_assert(sizeof wide / sizeof wide.arena == sizeof info / sizeof info.arena);
  std::transform(&wide.arena, &wide.arena + sizeof wide / sizeof wide.arena, &info.arena,
                 [](size_t n) { return static_cast<int>(std::min<size_t>(n, INT_MAX)); });
  return info;
}

PKTMALLOC_EXPORT int mallopt(int option, int value) {
  return next_allocator().process().mallopt(option, value);
}

PKTMALLOC_EXPORT const char* pktmalloc_version() { return PKTMALLOC_VERSION; }

PKTMALLOC_EXPORT size_t pktmalloc_trim() { return trim(); }

PKTMALLOC_EXPORT size_t pktmalloc_class_bytes(const void* p) {
  return heap.classes()[heap.class_of(p)].object_bytes;  // kNoClass has 0
}

PKTMALLOC_EXPORT size_t pktmalloc_get_statistics(pktmalloc_statistics* out, size_t bytes) {
  // The whole table except resident_bytes, which would cost a walk over all pages.
  static_assert(sizeof(pktmalloc_statistics) + sizeof(uint64_t) == sizeof(ProcessStatistics));
  pktmalloc_statistics all{};
  add_alike(all, totals());
  memcpy(out, &all, std::min(bytes, sizeof all));
  return sizeof all;
}

PKTMALLOC_EXPORT size_t pktmalloc_statistics_json(char* buffer, size_t bytes) {
  Writer out(buffer, bytes);
  const Mapped<Snapshot> s;
  if (s) {
    take_snapshot(*s);
    measure_resident(*s);
    write_json(out, this_process(), *s);
  }
  out.finish();
  return out.length();
}

}  // extern "C"
