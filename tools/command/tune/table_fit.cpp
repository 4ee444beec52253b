// SPDX-License-Identifier: MIT
#include "tools/command/tune/table_fit.h"

#include <algorithm>

namespace pktmalloc {
namespace {

uint64_t whole_pages(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

uint64_t page_bytes(const SizeClass& geometry, uint64_t objects) {
  const uint64_t bytes = geometry.object_bytes;
  const uint64_t per_slab = geometry.objects_per_slab;
  return objects / per_slab * whole_pages(per_slab * bytes) +
         whole_pages(objects % per_slab * bytes);
}

TableFit fit(const ClassTable& table, const SizeRecording& recording) {
  TableFit all;
  all.classes.resize(table.count());
  for (const SizeRecord& record : recording.sizes) {
    const ClassId id = record.alignment == 0 ? table.find(record.bytes)
                                             : table.find_aligned(record.bytes, record.alignment);
    const uint64_t requested = record.bytes * record.live_at_peak;
    all.class_of.push_back(id == kNoClass ? 0 : table[id].object_bytes);
    if (id == kNoClass) {
      all.passed_calls += record.calls;
      all.passed_objects += record.live_at_peak;
      all.passed_bytes += requested;
      continue;
    }
    ClassFit& c = all.classes[index(id) - 1];
    if (c.calls == 0 && c.objects == 0) c.smallest = record.bytes;  // they ascend
    c.largest = std::max(record.bytes, c.largest);
    c.calls += record.calls;
    c.objects += record.live_at_peak;
    c.requested += requested;
    c.threads = std::max(record.threads, c.threads);
  }
  for (const ClassId id : table.ids()) {
    const SizeClass& geometry = table[id];
    ClassFit& c = all.classes[index(id) - 1];
    c.bytes = geometry.object_bytes;
    c.page_bytes = page_bytes(geometry, c.objects);
    all.requested += c.requested;
    all.lost += c.lost();
    all.page_bytes += c.page_bytes;
  }
  return all;
}

}  // namespace pktmalloc
