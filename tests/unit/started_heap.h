// SPDX-License-Identifier: MIT
// StartedHeap: a heap that gives its reservations back at the end of a test, and the geometry that
// reaches every boundary in milliseconds.
#pragma once

#include "sizeclass/heap.h"
#include "tests/unit/page_shift.h"

namespace pktmalloc::test {

inline constexpr uint64_t kNever = 3'600'000;  // ms: ageing by the clock does not disturb

// Areas of 256 pages, a MiB if one has 4 KiB, in slabs of a page where four objects fit one.
inline HeapConfig tiny(unsigned area_shift = 20, uint64_t interval_ms = kNever) {
  HeapConfig config;
  config.area_shift = config.least_area_shift = area_shift - 12 + page_shift();
  config.slab_shift = page_shift();
  config.interval_ms = interval_ms;
  return config;
}

// Areas of 64 MiB in slabs as the library has them.
inline HeapConfig roomy(uint64_t interval_ms = kNever) {
  HeapConfig config;
  config.area_shift = config.least_area_shift = 26;
  config.interval_ms = interval_ms;
  return config;
}

// The same with twenty classes: all locks of the heap together are then fewer than the 64 that
// ThreadSanitizer follows in one thread.
inline HeapConfig of_few_classes(HeapConfig config) {
  static constexpr size_t kSizes[] = {16,  32,  48,   64,   96,   128,  192,  256,  384,  512,
                                      592, 768, 1024, 1536, 2048, 3072, 4096, 6144, 9216, 16384};
  config.sizes = kSizes;
  config.sizes_count = sizeof kSizes / sizeof kSizes[0];
  return config;
}

struct StartedHeap {
  explicit StartedHeap(const HeapConfig& config) : started(heap.start(config)) {}
  ~StartedHeap() { heap.stop(); }
  StartedHeap(const StartedHeap&) = delete;
  StartedHeap& operator=(const StartedHeap&) = delete;
  Heap* operator->() { return &heap; }

  ClassStatistics of(ClassId id) {
    HeapStatistics all;
    heap.statistics(all);
    return all.of[index(id)];
  }
  HeapStatistics statistics() {
    HeapStatistics all;
    heap.statistics(all);
    return all;
  }

  Heap heap;
  const bool started;
};

// Objects that a class can have at most.
inline uint64_t capacity(const Heap& heap, ClassId id) {
  const SizeClass& c = heap.classes()[id];
  return uint64_t{heap.slabs(id)} * c.objects_per_slab;
}

}  // namespace pktmalloc::test
