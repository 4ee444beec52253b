// SPDX-License-Identifier: MIT
// StartedHeap: a heap that gives its memory back at the end of a test, and sizes that reach every
// boundary in milliseconds.
#pragma once

#include "sizeclass/heap/heap.h"

namespace pktmalloc::test {

inline constexpr uint64_t kNever = 3'600'000;  // ms: ageing by the clock does not disturb

// So few units that they run out soon. For one thread: the stacks of others might lie where it
// grows.
inline HeapConfig tiny(size_t most_bytes = size_t{16} << 20, uint64_t interval_ms = kNever) {
  HeapConfig config;
  config.most_bytes = most_bytes;
  config.interval_ms = interval_ms;
  return config;
}

inline HeapConfig roomy(uint64_t interval_ms = kNever) {
  return tiny(size_t{1} << 30, interval_ms);
}

// As the library has it. ThreadSanitizer knows too few addresses for that.
inline HeapConfig whole() {
#if defined(__SANITIZE_THREAD__)
  return roomy();
#else
  return HeapConfig{};
#endif
}

// Any of them with twenty classes: all locks of the heap together are then fewer than the 64 that
// ThreadSanitizer follows in one thread.
inline HeapConfig of_few_classes(HeapConfig config) {
  static constexpr size_t kSizes[] = {16,  32,  48,   64,   96,   128,  192,  256,  384,  512,
                                      592, 768, 1024, 1536, 2048, 3072, 4096, 6144, 9216, 16384};
  config.sizes = kSizes;
  config.sizes_count = sizeof kSizes / sizeof kSizes[0];
  return config;
}

// Does the heap still have units that make a slab of the class? `units`: how many there are.
inline bool has_units_for(const Heap& heap, ClassId id, uint32_t units) {
  unsigned run = 0;
  for (uintptr_t unit = 1; unit <= units && run < heap.classes()[id].units; ++unit) {
    const auto* const p = reinterpret_cast<void*>(heap.base() + (unit << SlabPool::kUnitShift));
    const size_t block_units = heap.block_bytes(p) >> SlabPool::kUnitShift;
    run = heap.owns(p) || block_units != 0 ? 0 : run + 1;
    if (block_units != 0) unit += block_units - 1;
  }
  return run == heap.classes()[id].units;
}

struct StartedHeap {
  explicit StartedHeap(const HeapConfig& config)
      : started(heap.start(config)), units(units_of(config)) {}
  ~StartedHeap() { heap.stop(); }
  StartedHeap(const StartedHeap&) = delete;
  StartedHeap& operator=(const StartedHeap&) = delete;
  Heap* operator->() { return &heap; }

  ClassStatistics of(ClassId id) {
    HeapStatistics all;
    heap.statistics(all);
    return all.of[index(id) - 1];
  }
  HeapStatistics statistics() {
    HeapStatistics all;
    heap.statistics(all);
    return all;
  }

  // Objects that the class can have if no other has any.
  uint64_t capacity(ClassId id) const {
    const SizeClass& c = heap.classes()[id];
    return uint64_t{units / c.units} * c.objects_per_slab;
  }

  static uint32_t units_of(const HeapConfig& config) {
    return static_cast<uint32_t>((config.most_bytes >> SlabPool::kUnitShift) -
                                 1);  // one is the map
  }

  Heap heap;
  const bool started;
  const uint32_t units;
};

}  // namespace pktmalloc::test
