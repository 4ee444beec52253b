// SPDX-License-Identifier: MIT
#include "sizeclass/memory_limit.h"

#include <catch2/catch.hpp>

#include <thread>
#include <vector>

#include "tests/unit/lone_area.h"
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

TEST_CASE("an area opens as many slabs as it may, and what it purges may be opened elsewhere") {
  const size_t slab = memory::page_bytes();
  MemoryLimit limit;
  limit.set(10 * slab, MemoryLimit::kNone);
  LoneArea one(slab / 4, 64 * slab), other(slab / 4, 64 * slab);
  one->set_limit(limit);
  other->set_limit(limit);
  const auto objects = one.fill(100);
  CHECK(objects.size() == 40);
  CHECK(other.fill(1).empty());
  one.drain(objects);
  CHECK(other.fill(1).empty());  // they lie free in the first
  CHECK(one->purge_some(100) == 10);
  CHECK(limit.used() == 0);
  const auto others = other.fill(12);
  CHECK(others.size() == 12);
  CHECK(one.fill(100).size() == 28);  // purged slabs count again when they are opened
  CHECK(limit.left() == 0);
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

TEST_CASE("who grows beyond the soft limit sends free memory of others away") {
  for (const bool tight : {false, true}) {
    HeapConfig config = roomy();
    config.soft_limit = tight ? size_t{20} << 20 : size_t{60} << 20;
    StartedHeap started(config);
    Heap& heap = started.heap;
    Cache* const cache = heap.attach();
    const auto take = [&](size_t bytes, int count) {
      std::vector<void*> objects;
      for (int i = 0; i < count; ++i) {
        objects.push_back(heap.allocate(cache, heap.classes().find(bytes)));
      }
      return objects;
    };
    for (void* p : take(1500, 11000)) heap.release(cache, heap.classes().find(1500), p);
    CHECK(heap.limit().used() > size_t{15} << 20);
    take(64, 250'000);
    INFO(tight << ": " << heap.limit().used());
    CHECK((heap.limit().used() < size_t{19} << 20) == tight);
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
