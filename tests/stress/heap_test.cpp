// SPDX-License-Identifier: MIT
// Whoever looks at the heap as a whole, or locks it as a whole, while threads are at work.
#include "sizeclass/heap/heap.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/stress/crew.h"
#include "tests/stress/parcel.h"
#include "tests/unit/child.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr unsigned kWorkers = 3;
constexpr unsigned kBoard = 256;

// Workers that swap parcels of several classes while `other` runs on the test's own thread, once
// and again until they are done.
class Workshop {
 public:
  explicit Workshop(const HeapConfig& config) : heap(of_few_classes(config)), board_(kBoard) {}

  template <typename Other>
  void run(unsigned rounds, Other&& other) {
    std::atomic<unsigned> running = kWorkers;
    Crew crew(kWorkers, [&](unsigned number) {
      work(number, rounds);
      --running;
    });
    do {
      other();
    } while (running > 0);
    crew.join();
  }

  void check_end() {
    for (auto& place : board_) {
      if (Parcel* parcel = place.exchange(nullptr)) {
        if (!unpack(heap.heap, nullptr, parcel)) ++wrong;
        ++unpacked;
      }
    }
    if (Parcel* const last = block_) heap->release_block(nullptr, last);
    CHECK(wrong == 0);
    heap->trim(nullptr);
    const HeapStatistics s = heap.statistics();
    CHECK(s.blocks.allocs > 0);
    CHECK((s.blocks.live == 0 && s.blocks.active_bytes == 0));
    uint64_t allocs = 0, frees = 0;
    for (unsigned i = 0; i < s.classes; ++i) {
      CHECK(s.of[i].live == 0);
      CHECK(s.of[i].cached_threads == 0);
      allocs += s.of[i].allocs;
      frees += s.of[i].frees;
    }
    CHECK(allocs == packed);
    CHECK(frees == unpacked);
    CHECK(packed == unpacked);
    CHECK(heap->resident_bytes() == 0);
  }

  StartedHeap heap;
  std::atomic<uint64_t> wrong = 0, packed = 0, unpacked = 0;

 private:
  void work(unsigned number, unsigned rounds) {
    Cache* cache = heap->attach();
    Dice dice(number + 1);
    uint64_t in = 0, out = 0;
    for (unsigned n = 0; n < rounds; ++n) {
      if (dice.below(5000) == 0) {
        heap->detach(cache);
        cache = heap->attach();
      }
      // Seldom without a cache.
      Cache* const with = dice.below(100) == 0 ? nullptr : cache;
      if (dice.below(500) == 0) swap_blocks(with, number, n, dice.below(2 * kBlockBytes));
      Parcel* parcel =
          pack(heap.heap, with, ClassId(2 + dice.below(heap->classes().count() - 1)), number, n);
      if (parcel == nullptr) {
        ++wrong;
        continue;
      }
      ++in;
      Parcel* const other = board_[dice.below(kBoard)].exchange(parcel, std::memory_order_acq_rel);
      if (other == nullptr) continue;
      if (!unpack(heap.heap, with, other)) ++wrong;
      ++out;
    }
    heap->detach(cache);
    packed += in;
    unpacked += out;
  }

  // The latest block of any worker waits for the next one.
  void swap_blocks(Cache* cache, unsigned number, unsigned serial, uint32_t more) {
    void* const block = heap->allocate_block(cache, kBlockBytes);
    if (block == nullptr) return void(++wrong);
    heap->resize_block(cache, block, kBlockBytes + more);
    Parcel* const parcel = Parcel::pack(block, kBlockBytes, number, serial);
    Parcel* const other = block_.exchange(parcel, std::memory_order_acq_rel);
    if (other == nullptr) return;
    if (!other->intact()) ++wrong;
    heap->release_block(cache, other);
  }

  static constexpr uint32_t kBlockBytes = 300'000;
  std::vector<std::atomic<Parcel*>> board_;
  std::atomic<Parcel*> block_ = nullptr;
};

void pause_us(unsigned us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

}  // namespace

TEST_CASE("statistics taken while threads run are plausible, and exact when they are done") {
  Workshop shop(roomy(20));
  uint64_t last_allocs[kMaxClasses]{};
  const uint64_t most = roomy().most_bytes;
  uint64_t wrong = 0, looks = 0;
  shop.run(400'000 / kSlower, [&] {
    const HeapStatistics s = shop.heap.statistics();
    ++looks;
    wrong += s.threads_alive > kWorkers;
    wrong += s.metadata_bytes > s.reserved_bytes;
    for (unsigned i = 0; i < s.classes; ++i) {
      const ClassStatistics& c = s.of[i];
      wrong += c.live > c.allocs || c.frees != c.allocs - c.live;
      wrong += c.allocs < last_allocs[i];
      last_allocs[i] = c.allocs;
      wrong += c.active_bytes > c.committed_bytes || c.free_bytes > c.committed_bytes;
      wrong += c.live * c.object_bytes > c.committed_bytes;
      wrong += c.cached_slabs * c.object_bytes > c.committed_bytes;
      wrong += c.cached_threads > uint64_t{kWorkers} * 2 * ClassTable::kRoundsLimit;
      wrong += c.cached_depot * c.object_bytes > most;
    }
  });
  CHECK(looks > 0);
  CHECK(wrong == 0);
  shop.check_end();
}

TEST_CASE("a background that ages while threads run loses nothing") {
  Workshop shop(roomy(4));
  shop.heap->ageing().use_background([] {});
  shop.run(400'000 / kSlower, [&] {
    shop.heap->age();
    pause_us(300);
  });
  shop.check_end();
}

TEST_CASE("trims while threads run lose nothing") {
  Workshop shop(roomy(4));
  Cache* mine = shop.heap->attach();
  shop.run(300'000 / kSlower, [&] {
    shop.heap->trim(mine);
    shop.heap->resident_bytes();
    pause_us(200);
  });
  shop.heap->detach(mine);
  shop.check_end();
}

TEST_CASE("decommits while threads run lose nothing") {
  Workshop shop(roomy(4));
  Cache* mine = shop.heap->attach();
  shop.run(300'000 / kSlower, [&] {
    shop.heap->decommit(mine);
    pause_us(200);
  });
  shop.heap->detach(mine);
  shop.check_end();
}

TEST_CASE("threads wait while all is locked, and go on when it is unlocked") {
  Workshop shop(roomy(4));
  shop.run(300'000 / kSlower, [&] {
    shop.heap->lock_all();
    pause_us(20);
    shop.heap->unlock_all();
    pause_us(100);
  });
  shop.check_end();
}

TEST_CASE("a child forked in the middle of everything allocates, frees and counts") {
  Workshop shop(roomy(4));
  Cache* mine = shop.heap->attach();
  int failed = 0, forks = 0;
  shop.run(300'000 / kSlower, [&] {
    if (forks == 10) return pause_us(1000);
    ++forks;
    shop.heap->lock_all();
    const Ending ending = end_of_child([&] {
      shop.heap->unlock_all();
      shop.heap->forget_other_threads(mine);
      for (unsigned i = 2; i <= shop.heap->classes().count(); ++i) {
        Parcel* parcels[300];
        for (Parcel*& parcel : parcels) {
          parcel = pack(shop.heap.heap, mine, ClassId(i), 99, i);
          if (parcel == nullptr) return 1;
        }
        for (Parcel* parcel : parcels) {
          if (!unpack(shop.heap.heap, mine, parcel)) return 2;
        }
      }
      shop.heap->trim(mine);
      return shop.heap->threads_alive() == 1 ? 0 : 3;
    });
    shop.heap->unlock_all();
    failed += ending.status != 0;
    pause_us(500);
  });
  CHECK(forks > 0);
  CHECK(failed == 0);
  shop.heap->detach(mine);
  shop.check_end();
}
