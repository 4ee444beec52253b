// SPDX-License-Identifier: MIT
#include "sizeclass/base/memory_limit.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("a memory limit grants up to its hard limit, and is tight above the soft one") {
  MemoryLimit limit;
  limit.set(100, 60);
  CHECK(limit.take(60));
  CHECK_FALSE(limit.is_tight());
  CHECK(limit.take(40));
  CHECK(limit.is_tight());
  CHECK(limit.left() == 0);
  CHECK_FALSE(limit.take(1));
  CHECK(limit.take(0));
  limit.add(10);
  CHECK(limit.used() == 110);
  CHECK(limit.left() == 0);
  limit.give(50);
  CHECK(limit.left() == 40);
  CHECK_FALSE(limit.is_tight());
  limit.give(1000);
  CHECK(limit.used() == 0);
}

TEST_CASE("without limits nothing is counted; either of them counts") {
  MemoryLimit none;
  CHECK(none.take(~uint64_t{0}));
  CHECK(none.used() == 0);
  CHECK_FALSE(none.is_tight());
  MemoryLimit soft;
  soft.set(MemoryLimit::kNone, 10);
  CHECK(soft.take(1000));
  CHECK(soft.is_tight());
  MemoryLimit hard;
  hard.set(10, MemoryLimit::kNone);
  CHECK_FALSE(hard.take(11));
  CHECK(hard.take(10));
  CHECK_FALSE(hard.is_tight());
}

TEST_CASE("threads together get no more than the limit") {
  MemoryLimit limit;
  limit.set(1000, 1000);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> got = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10000; ++n) {
        if (limit.take(3)) {
          got += 3;
          if (n % 2 == 0) {
            got -= 3;
            limit.give(3);
          }
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(got == limit.used());
  CHECK(got == 999);
}

TEST_CASE("above the soft limit what is freed goes at once, below it stays") {
  for (const bool tight : {false, true}) {
    HeapConfig config = roomy();
    config.soft_limit = tight ? size_t{4} << 20 : size_t{40} << 20;
    StartedHeap started(config);
    Heap& heap = started.heap;
    Cache* const cache = heap.attach();
    const ClassId id = heap.classes().find(1500);
    std::vector<void*> objects;
    for (int i = 0; i < 16000; ++i) objects.push_back(heap.allocate(cache, id));
    CHECK(heap.limit().used() > 16000 * 1500);
    for (void* p : objects) heap.release(cache, id, p);
    INFO(tight << ": " << heap.limit().used());
    CHECK((heap.limit().used() < size_t{6} << 20) == tight);
    heap.detach(cache);
  }
}

TEST_CASE("a heap at its hard limit serves another class after a trim") {
  HeapConfig config = roomy();
  config.limit = size_t{8} << 20;
  StartedHeap started(config);
  Heap& heap = started.heap;
  Cache* const cache = heap.attach();
  const auto take_all = [&](ClassId id) {
    std::vector<void*> objects;
    while (void* p = heap.allocate(cache, id)) objects.push_back(p);
    return objects;
  };
  const ClassId small = heap.classes().find(64), large = heap.classes().find(1500);
  for (int round = 0; round < 3; ++round) {
    for (const ClassId id : {small, large}) {
      const auto objects = take_all(id);
      CHECK(objects.size() * heap.classes()[id].object_bytes > config.limit * 3 / 4);
      CHECK(heap.limit().used() <= config.limit);
      for (void* p : objects) heap.release(cache, id, p);
      heap.trim(cache);
    }
  }
  heap.detach(cache);
}
