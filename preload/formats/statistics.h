// SPDX-License-Identifier: MIT
// Snapshot: everything in the statistics, as plain structs; statistics.def names the keys.
// reports/moment.cpp takes it in the process; the pktmalloc command reads it from outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/base/statistics.h"

namespace pktmalloc {

// Raised when a key of the JSON file changes its meaning.
inline constexpr int kStatisticsSchema = 1;

// Why a request went to the next allocator, and how large it was.
enum class PassReason : uint8_t { kTooLarge, kTooAligned, kClassOff, kExhausted, kNotReserved };
inline constexpr unsigned kPassReasons = 5;
inline constexpr const char* kPassReasonNames[kPassReasons] = {
    "too_large", "too_aligned", "class_off", "exhausted", "not_reserved"};
inline constexpr unsigned kSizeBands = 4;
inline constexpr const char* kSizeBandNames[kSizeBands] = {"to_32KiB", "to_1MiB", "to_32MiB",
                                                           "above"};
// Upper ends, in bytes; the last band has none.
inline constexpr size_t kSizeBandEnd[kSizeBands - 1] = {32 << 10, 1 << 20, 32 << 20};

struct ProcessStatistics {
#define PROCESS_STATISTIC(key, kind, help) uint64_t key;
#include "preload/formats/statistics.def"
};

struct Snapshot {
  HeapStatistics heap;
  ProcessStatistics process;
  uint64_t passed[kPassReasons][kSizeBands];
};

// The heap counts them by thread (Heap::tally).
static_assert(kTallies == kPassReasons * kSizeBands);
inline constexpr unsigned pass_tally(unsigned reason, unsigned band) {
  return reason * kSizeBands + band;
}

// What both have under the same key.
template <typename Process, typename Part>
void add_alike(Process& process, const Part& part) {
#define PROCESS_STATISTIC(key, kind, help) \
  if constexpr (requires { process.key += part.key; }) process.key += part.key;
#include "preload/formats/statistics.def"
}

// Adds what the heap tells of requests passed on, and fills `process` from the rest, except
// resident_bytes and forks.
inline void sum_up(Snapshot& s) {
  ProcessStatistics& p = s.process;
  add_alike(p, s.heap);
  for (unsigned i = 0; i < s.heap.classes; ++i) {
    const ClassStatistics& c = s.heap.of[i];
    add_alike(p, c);
    p.allocated_bytes += c.live * c.object_bytes;
    p.cached_threads_bytes += c.cached_threads * c.object_bytes;
    p.cached_depot_bytes += c.cached_depot * c.object_bytes;
    p.cached_slabs_bytes += c.cached_slabs * c.object_bytes;
  }
  add_alike(p, s.heap.blocks);
  p.allocated_bytes += p.block_bytes = s.heap.blocks.active_bytes;
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      p.passed += s.passed[reason][band] += s.heap.tallies[pass_tally(reason, band)];
    }
  }
}

}  // namespace pktmalloc
