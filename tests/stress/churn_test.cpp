// SPDX-License-Identifier: MIT
// Threads that come and go.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/stress/crew.h"
#include "tests/stress/parcel.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("thousands of threads that use ten classes once leave nothing but a few caches") {
  constexpr unsigned kAtOnce = 4;
  const unsigned rounds = 5000 / kSlower;
  StartedHeap heap(roomy());
  std::atomic<uint64_t> wrong = 0;
  Crew(kAtOnce, [&](unsigned number) {
    for (unsigned round = 0; round < rounds; ++round) {
      Cache* cache = heap->attach();
      Parcel* parcels[10];
      for (unsigned n = 0; n < 10; ++n) {
        parcels[n] = pack(heap.heap, cache, ClassId(3 + 3 * n), number, round);
      }
      for (Parcel* parcel : parcels) {
        if (parcel == nullptr || !unpack(heap.heap, cache, parcel)) ++wrong;
      }
      heap->detach(cache);
    }
  }).join();
  CHECK(wrong == 0);
  HeapStatistics s = heap.statistics();
  CHECK(s.threads_seen == kAtOnce * rounds);
  CHECK(s.threads_alive == 0);
  for (unsigned n = 0; n < 10; ++n) {
    const ClassStatistics& c = s.of[2 + 3 * n];
    CAPTURE(c.object_bytes);
    CHECK(c.allocs == kAtOnce * rounds);
    CHECK(c.live == 0);
    // A magazine, or the objects in slabs, for each thread that was there at once.
    CHECK(c.active_bytes <=
          2 * kAtOnce *
              (uint64_t{heap->classes()[ClassId(3 + 3 * n)].units} << SlabPool::kUnitShift));
  }
  CHECK(s.metadata_bytes <= size_t{16} << 20);
  heap->trim(nullptr);
  CHECK(heap->resident_bytes() == 0);
  s = heap.statistics();
  for (const ClassStatistics& c : s.of) CHECK(c.cached_threads == 0);
}

TEST_CASE("threads of the system that end hand what they held to those that follow") {
  const unsigned generations = 100 / (kSlower > 1 ? 4 : 1);
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(256);
  std::atomic<uint64_t> wrong = 0;
  uint64_t committed = 0;
  for (unsigned generation = 0; generation < generations; ++generation) {
    Crew(4, [&](unsigned number) {
      Cache* cache = heap->attach();
      std::vector<Parcel*> parcels;
      for (unsigned n = 0; n < 500; ++n) {
        parcels.push_back(pack(heap.heap, cache, id, number, generation));
      }
      for (Parcel* parcel : parcels) {
        if (!unpack(heap.heap, cache, parcel)) ++wrong;
      }
      heap->detach(cache);
    }).join();
    if (generation == 3) committed = heap.of(id).committed_bytes;
  }
  CHECK(wrong == 0);
  CHECK(heap.of(id).committed_bytes <= committed + (size_t{1} << 20));
  CHECK(heap.of(id).allocs == uint64_t{2000} * generations);
  CHECK(heap.of(id).live == 0);
}
