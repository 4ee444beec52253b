// SPDX-License-Identifier: MIT
// Objects that change hands: whoever opens a parcel is seldom who packed it.
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <mutex>
#include <vector>

#include "tests/stress/crew.h"
#include "tests/stress/parcel.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

void check_nothing_left(StartedHeap& heap) {
  heap->trim(nullptr);
  const HeapStatistics s = heap.statistics();
  CHECK(s.threads_alive == 0);
  for (unsigned i = 0; i < s.classes; ++i) {
    const ClassStatistics& c = s.of[i];
    CAPTURE(c.object_bytes);
    CHECK(c.live == 0);
    CHECK(c.allocs == c.frees);
    CHECK(c.cached_threads + c.cached_depot + c.cached_slabs == 0);
    CHECK(c.active_bytes == 0);
  }
  CHECK(heap->resident_bytes() == 0);
}

// Every thread swaps parcels of its own against those on a board.
void exchange(const HeapConfig& config, unsigned threads, unsigned rounds, bool refusals) {
  StartedHeap heap(config);
  constexpr unsigned kPlaces = 512;
  std::vector<std::atomic<Parcel*>> board(kPlaces);
  std::atomic<uint64_t> wrong = 0, refused = 0, foreign = 0;
  Crew(threads, [&](unsigned number) {
    Cache* cache = heap->attach();
    Dice dice(number + 1);
    const unsigned few = std::min(heap->classes().count(), 30U);
    for (unsigned n = 0; n < rounds; ++n) {
      const ClassId id{static_cast<uint8_t>(2 + dice.below(few - 1))};
      Parcel* parcel = pack(heap.heap, cache, id, number, n);
      if (parcel == nullptr) ++refused;
      Parcel* const other = board[dice.below(kPlaces)].exchange(parcel, std::memory_order_acq_rel);
      if (other == nullptr) continue;
      foreign += other->owner != number;
      if (!unpack(heap.heap, cache, other)) ++wrong;
    }
    heap->detach(cache);
  }).join();
  for (auto& place : board) {
    if (place != nullptr && !unpack(heap.heap, nullptr, place)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(foreign > 0);
  CHECK((refused > 0) == refusals);
  check_nothing_left(heap);
}

}  // namespace

TEST_CASE("objects exchanged among threads arrive as they were sent") {
  exchange(roomy(), 4, 600'000 / kSlower, false);
}

TEST_CASE(
    "objects exchanged among threads under a limit arrive as they were sent, or are refused") {
  HeapConfig config = roomy();  // the threads' stacks might lie where a tiny one would grow
  config.limit = size_t{3} << 20;
  exchange(config, 6, 300'000 / kSlower, true);
}

TEST_CASE("objects exchanged while every call ages arrive as they were sent") {
  exchange(roomy(4), 4, 300'000 / kSlower, false);
}

TEST_CASE("many producers and one that only frees need no more than the queue and the magazines") {
  constexpr unsigned kProducers = 16;
  constexpr size_t kQueue = 4096;
  const unsigned each = 60'000 / kSlower;
  StartedHeap heap(roomy(40));
  const ClassId id = heap->classes().find(592);
  std::mutex mutex;
  std::deque<Parcel*> queue;
  std::atomic<uint64_t> wrong = 0;
  std::atomic<unsigned> producing = kProducers;
  uint64_t most_committed = 0, taken = 0;
  {
    Crew producers(kProducers, [&](unsigned number) {
      Cache* cache = heap->attach();
      for (unsigned n = 0; n < each;) {
        {
          const std::lock_guard lock(mutex);
          for (unsigned burst = 0; burst < 32 && n < each && queue.size() < kQueue; ++burst) {
            Parcel* parcel = pack(heap.heap, cache, id, number, n++);
            if (parcel == nullptr) {
              ++wrong;
            } else {
              queue.push_back(parcel);
            }
          }
        }
        std::this_thread::yield();
      }
      heap->detach(cache);
      --producing;
    });
    Cache* cache = heap->attach();
    std::deque<Parcel*> mine;
    do {
      {
        const std::lock_guard lock(mutex);
        mine.swap(queue);
      }
      for (Parcel* parcel : mine) {
        if (!unpack(heap.heap, cache, parcel)) ++wrong;
      }
      taken += mine.size();
      mine.clear();
      most_committed = std::max(most_committed, heap.of(id).committed_bytes);
    } while (producing > 0 || [&] {
      const std::lock_guard lock(mutex);
      return !queue.empty();
    }());
    heap->detach(cache);
  }
  CHECK(wrong == 0);
  CHECK(taken == uint64_t{kProducers} * each);
  // The queue twice (what the consumer has taken counts too), two magazines for each thread, one on
  // its way for each; a quarter for the commit step.
  const uint64_t objects = 2 * kQueue + (kProducers + 1) * 3 * heap->classes()[id].largest_rounds;
  CAPTURE(most_committed);
  CHECK(most_committed <= objects * 592 * 5 / 4 + kMiB);
  check_nothing_left(heap);
}
