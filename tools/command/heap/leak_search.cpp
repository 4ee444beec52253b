// SPDX-License-Identifier: MIT
#include "tools/command/heap/leak_search.h"

#include <fmt/core.h>

#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {

LeakSearch::LeakSearch(const Subject& subject, bool contents, bool waits) {
  RemoteHeap heap(subject.window(), subject.image().memory());
  Subject::Whole whole;
  look = subject.look_whole(heap, whole, waits);
  const HeapCopy& copy = *whole.copy;
  const SampledObjects& sampled = whole.sampled;
  report = leak_report(subject.image(), heap, copy, sampled,
                       find_lost(heap, copy, sampled, whole.roots), contents);
  subject.check_alive();
  for (const RemoteHeap::Slab& slab : heap.slabs()) {
    objects += heap.live_objects(slab);
    bytes += uint64_t{heap.live_objects(slab)} * heap.size_class(slab.of).object_bytes;
  }
  objects += sampled.all().size();
  for (const SampledObject& one : sampled.all()) bytes += one.bytes;
}

std::string head_text(const Subject& subject, uint64_t objects, uint64_t bytes) {
  return fmt::format("{}, process {}: {} live objects, {}", printable(subject.window().program),
                     subject.pid(), count_text(objects), bytes_text(bytes));
}

}  // namespace pktmalloc
