// SPDX-License-Identifier: MIT
#include "sizeclass/heap/cache.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <vector>

#include "tests/unit/stock.h"
#include "tests/unit/waiting_magazines.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr ClassId kOnly{1};

std::vector<void*> take(Stock& stock, Cache& cache, ClassId id, size_t count) {
  std::vector<void*> objects;
  for (size_t n = 0; n < count; ++n) {
    void* object = stock.allocate(cache, id);
    if (object == nullptr) FAIL("refused");
    objects.push_back(object);
  }
  return objects;
}

void put(Stock& stock, Cache& cache, ClassId id, const std::vector<void*>& objects) {
  for (void* object : objects) stock.release(cache, id, object);
}

uint64_t free_in_slabs(Stock& stock, ClassId id) {
  return stock.area(id).statistics().free_objects;
}

}  // namespace

TEST_CASE("the null cache is empty and full at once, and stays so") {
  Cache& null_cache = const_cast<Cache&>(kNullCache);
  int object = 0;
  for (unsigned i = 0; i < kMaxClasses; ++i) {
    CHECK(null_cache.allocate(ClassId(i)) == nullptr);
    CHECK_FALSE(null_cache.release(ClassId(i), &object));
    CHECK(null_cache.allocate(ClassId(i)) == nullptr);
    void* objects[] = {&object};
    CHECK(null_cache.allocate_run(ClassId(i), objects, 1) == 0);
    CHECK(null_cache.release_run(ClassId(i), objects, 1, 26) == 0);
    CHECK(kNullCache.statistics(ClassId(i)).held == 0);
    CHECK(kNullCache.statistics(ClassId(i)).allocated == 0);
  }
}

TEST_CASE("a new cache sends the first request of every class to the slow path") {
  const auto cache = std::make_unique<Cache>();
  int object = 0;
  for (unsigned i = 0; i < kMaxClasses; ++i) {
    CHECK(cache->allocate(ClassId(i)) == nullptr);
    CHECK_FALSE(cache->release(ClassId(i), &object));
  }
}

TEST_CASE("a thread's first magazine is small and grows fourfold at each trip up to the bound") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  const SizeClass& c = stock.shape(kOnly);
  for (uint32_t rounds = c.first_rounds, n = 0; n < 8; ++n) {
    REQUIRE(cache->allocate(kOnly) == nullptr);
    REQUIRE(cache->allocate_slow(stock.supply, kOnly) != nullptr);
    CHECK(cache->statistics(kOnly).held == rounds - 1);
    take(stock, *cache, kOnly, rounds - 1);
    rounds = std::min<uint32_t>(rounds * 4, c.largest_rounds);
  }
}

TEST_CASE("a new cache hands out one object behind the other, each slab's round") {
  Stock stock({96});
  const auto cache = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *cache, kOnly, 1000);
  unsigned steps = 0;
  for (size_t n = 1; n < 1000; ++n) {
    steps += static_cast<char*>(objects[n]) == static_cast<char*>(objects[n - 1]) + 96;
  }
  CHECK(steps >= 999 - 2 * (1000 / stock.shape(kOnly).objects_per_slab + 1));
  CHECK(std::set<void*>(objects.begin(), objects.end()).size() == 1000);
}

// False sharing (Berger, 2000): two threads that write neighbours in a cache line slow each other.
TEST_CASE("what a thread frees before it has used the class is not what it is given next") {
  for (const size_t bytes : {16, 32, 48}) {
    Stock stock({bytes});
    const auto parent = std::make_unique<Cache>();
    std::vector<void*> objects = take(stock, *parent, kOnly, 8);
    std::vector<std::unique_ptr<Cache>> children;
    std::set<uintptr_t> lines;
    for (void* object : objects) {
      Cache& child = *children.emplace_back(std::make_unique<Cache>());
      put(stock, child, kOnly, {object});
      const auto given = reinterpret_cast<uintptr_t>(take(stock, child, kOnly, 1).front());
      CAPTURE(bytes, given);
      CHECK(lines.insert(given / 64).second);
      CHECK(lines.insert((given + bytes - 1) / 64).second == (given % 64 + bytes > 64));
    }
    for (const auto& child : children) child->flush(stock.supply);
    parent->flush(stock.supply);
  }
}

TEST_CASE("what was put aside stays so while trips could be lean") {
  Stock stock({3072});
  const auto parent = std::make_unique<Cache>();
  const auto child = std::make_unique<Cache>();
  child->saw(stock.due.word());
  const auto pass = [&](size_t count) {
    const std::vector<void*> objects = take(stock, *parent, kOnly, count);
    put(stock, *child, kOnly, objects);
    return std::set<void*>(objects.begin(), objects.end());
  };
  for (int n = 0; n < 200; ++n) pass(150);
  child->visits.tick = 1;
  while (child->flush_idle(stock.supply, 1, kNoClass)) continue;
  const std::set<void*> objects = pass(5);
  CHECK(child->statistics(kOnly).held == 5);
  const std::vector<void*> again = take(stock, *child, kOnly, 5);
  CHECK(std::set<void*>(again.begin(), again.end()).size() == 5);
  for (void* object : objects) CHECK(std::count(again.begin(), again.end(), object) == 1);
  child->flush(stock.supply);
  parent->flush(stock.supply);
}

TEST_CASE("trips with magazines larger than the thread's own are lean, too") {
  Stock stock({1536});
  const auto giver = std::make_unique<Cache>(), taker = std::make_unique<Cache>();
  const SizeClass& c = stock.shape(kOnly);
  const auto held = [&] { return giver->statistics(kOnly).held; };
  for (int n = 0; held() < c.largest_rounds; ++n) {  // until it was fast twice
    REQUIRE(n < 20'000);
    put(stock, *giver, kOnly, take(stock, *giver, kOnly, 2U * c.largest_rounds));
  }
  for (int n = 0; n < 15; ++n) {
    if (n == 4) taker->saw(stock.due.word());
    if (n == 5) taker->tripped = false;
    put(stock, *giver, kOnly, take(stock, *taker, kOnly, c.largest_rounds));
  }
  CHECK_FALSE(taker->tripped);
  giver->flush(stock.supply);
  taker->flush(stock.supply);
}

TEST_CASE("the object released last is allocated next") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *cache, kOnly, 5);
  stock.release(*cache, kOnly, objects[3]);
  stock.release(*cache, kOnly, objects[1]);
  CHECK(stock.allocate(*cache, kOnly) == objects[1]);
  CHECK(stock.allocate(*cache, kOnly) == objects[3]);
}

TEST_CASE("a run serves what the loaded magazine holds, or has room for, in the order of calls") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>(), twin = std::make_unique<Cache>();
  const unsigned shift = Stock::kWholeShift;
  put(stock, *cache, kOnly, take(stock, *cache, kOnly, 300));
  const auto held = static_cast<size_t>(cache->statistics(kOnly).held);
  const uint64_t allocated = cache->statistics(kOnly).allocated;
  std::vector<void*> objects(1000), again(1000);
  const size_t some = cache->allocate_run(kOnly, objects.data(), 7);
  CHECK(some == 7);
  CHECK(cache->statistics(kOnly).allocated == allocated + 7);
  CHECK(cache->statistics(kOnly).held == held - 7);
  CHECK(cache->release_run(kOnly, objects.data(), 7, shift) == 7);
  CHECK(cache->statistics(kOnly).held == held);
  for (size_t n = 7; n-- > 0;) CHECK(stock.allocate(*cache, kOnly) == objects[n]);
  for (size_t n = 0; n < 7; ++n) stock.release(*cache, kOnly, objects[n]);

  const size_t most = cache->allocate_run(kOnly, objects.data(), objects.size());
  CHECK(most > 0);
  CHECK(most < objects.size());
  CHECK(cache->allocate(kOnly) == nullptr);
  CHECK(cache->allocate_run(kOnly, again.data(), 1) == 0);
  CHECK(std::set<void*>(objects.begin(), objects.begin() + static_cast<long>(most)).size() == most);
  // What is no object of the class, or comes twice, ends a run.
  int other = 0;
  again = {objects[0], objects[1], &other, objects[2]};
  CHECK(cache->release_run(kOnly, again.data(), 4, shift) == 2);
  again = {objects[2], objects[2]};
  CHECK(cache->release_run(kOnly, again.data(), 2, shift) == 1);
  again = {objects[2]};
  CHECK(cache->release_run(kOnly, again.data(), 1, shift) == 0);
  CHECK(twin->release_run(kOnly, objects.data(), 1, shift) == 0);
  for (size_t place = 1; place < 10; ++place) {
    for (void* const wrong : {static_cast<void*>(&other), objects[100 + place - 1]}) {
      again.assign(objects.begin() + 100, objects.begin() + 110);
      again[place] = wrong;
      CHECK(cache->release_run(kOnly, again.data(), 10, shift) == place);
      CHECK(cache->allocate_run(kOnly, again.data(), place) == place);
      CHECK(
          std::equal(again.rend() - static_cast<long>(place), again.rend(), objects.begin() + 100));
    }
  }
  // A magazine that is full, too.
  put(stock, *cache, kOnly, {objects.begin() + 3, objects.begin() + static_cast<long>(most)});
  std::vector<void*> more = take(stock, *twin, kOnly, 1000);
  const size_t room = cache->release_run(kOnly, more.data(), more.size(), shift);
  CHECK(room < more.size());
  CHECK_FALSE(cache->release(kOnly, more[room]));
}

TEST_CASE("a run of frees ends where another unit begins") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *cache, kOnly, 300);
  const auto unit = [](void* object) {
    return reinterpret_cast<uintptr_t>(object) >> unit_shift();
  };
  size_t border = 10;
  while (unit(objects[border]) == unit(objects[0])) ++border;
  CHECK(cache->release_run(kOnly, &objects[border - 10], 20, unit_shift()) == 10);
}

TEST_CASE("bursts that would hover between two small magazines make them grow") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  const unsigned shift = Stock::kWholeShift;
  std::vector<void*> burst(32);
  uint64_t cut = 0;  // runs of frees
  for (int round = 0; round < 100; ++round) {
    for (size_t n = 0; n < burst.size(); ++n) {
      n += cache->allocate_run(kOnly, burst.data() + n, burst.size() - n);
      if (n < burst.size()) burst[n] = stock.allocate(*cache, kOnly);
    }
    for (size_t n = 0; n < burst.size(); ++n) {
      n += cache->release_run(kOnly, burst.data() + n, burst.size() - n, shift);
      if (n == burst.size()) break;
      cut += round >= 50;
      stock.release(*cache, kOnly, burst[n]);
    }
  }
  CHECK(cut == 0);
}

TEST_CASE("hovering around a magazine's boundary stays in the thread") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  std::vector<void*> objects = take(stock, *cache, kOnly, 2000);
  const auto trips = [&] {
    const CacheStatistics s = cache->statistics(kOnly);
    const AreaStatistics a = stock.area(kOnly).statistics();
    return s.takes + s.gives + a.fills + a.drains;
  };
  // Wherever the boundary lies, it is within the next 600 objects.
  for (int offset = 0; offset < 600; ++offset) {
    stock.release(*cache, kOnly, objects.back());
    objects.pop_back();
    const uint64_t before = trips();
    for (int n = 0; n < 20; ++n) {
      void* two[] = {stock.allocate(*cache, kOnly), stock.allocate(*cache, kOnly)};
      stock.release(*cache, kOnly, two[0]);
      stock.release(*cache, kOnly, two[1]);
    }
    CHECK(trips() - before <= 1);
  }
}

TEST_CASE("bursts over the border between two magazines soon take the slow path no more") {
  Stock stock({64});
  for (const size_t size : {2, 7, 16, 50, 120}) {
    const auto cache = std::make_unique<Cache>();
    std::vector<void*> objects = take(stock, *cache, kOnly, 2000);
    std::vector<void*> burst(size);
    uint64_t slow = 0;
    const auto go_up_and_down = [&] {
      for (void*& object : burst) {
        object = cache->allocate(kOnly);
        if (object != nullptr) continue;
        ++slow;
        object = cache->allocate_slow(stock.supply, kOnly);
      }
      for (void* object : burst) {
        if (cache->release(kOnly, object)) continue;
        ++slow;
        cache->release_slow(stock.supply, kOnly, object);
      }
    };
    // Wherever the border lies, it is within the next 600 objects.
    for (int offset = 0; offset < 600; ++offset) {
      stock.release(*cache, kOnly, objects.back());
      objects.pop_back();
      for (int n = 0; n < 20; ++n) go_up_and_down();
      slow = 0;
      for (int n = 0; n < 20; ++n) go_up_and_down();
      INFO("bursts of " << size << ", " << offset << " objects more are free");
      CHECK(slow == 0);
    }
    put(stock, *cache, kOnly, objects);
    cache->flush(stock.supply);
  }
}

TEST_CASE("bursts lose no object, however few a magazine holds") {
  Stock stock({2048, 40'000, 100'000, 250'000}, 1023);
  for (const ClassId id : stock.ids()) {
    const auto cache = std::make_unique<Cache>();
    std::set<void*> seen;
    for (const size_t size : {1, 2, 3, 4, 9}) {
      for (int round = 0; round < 200; ++round) {
        const std::vector<void*> burst = take(stock, *cache, id, size);
        seen.insert(burst.begin(), burst.end());
        put(stock, *cache, id, burst);
      }
    }
    INFO("objects of " << stock.shape(id).object_bytes << " bytes, at most "
                       << stock.shape(id).largest_rounds << " in a magazine");
    CHECK(seen.size() <= 9 + 3 * size_t{stock.shape(id).largest_rounds});
    cache->flush(stock.supply);
  }
}

TEST_CASE("what one thread releases another allocates, a magazine at a time") {
  Stock stock({64});
  const auto producer = std::make_unique<Cache>();
  const auto consumer = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *producer, kOnly, 4000);
  put(stock, *consumer, kOnly, objects);
  CHECK(depth(stock.depot, kOnly) > 10);
  CHECK(consumer->statistics(kOnly).gives == depth(stock.depot, kOnly));
  const uint64_t fills = stock.area(kOnly).statistics().fills;
  std::set<void*> given(objects.begin(), objects.end());
  unsigned again = 0;
  for (int n = 0; n < 3000; ++n) again += given.count(stock.allocate(*producer, kOnly));
  CHECK(again >= 2900);  // but for what was left in its own magazines
  CHECK(stock.area(kOnly).statistics().fills == fills);
  CHECK(producer->statistics(kOnly).takes > 10);
}

TEST_CASE("a full mark of a former capacity never replaces an object") {
  Stock stock({64, 4096});
  const ClassId large{2};
  const auto cache = std::make_unique<Cache>();
  // Magazines travel between two classes of different capacities; every object must come back.
  for (int round = 0; round < 20; ++round) {
    for (const ClassId id : {kOnly, large}) {
      const std::vector<void*> objects = take(stock, *cache, id, 200);
      CHECK(std::set<void*>(objects.begin(), objects.end()).size() == 200);
      CHECK(std::all_of(objects.begin(), objects.end(),
                        [&](void* p) { return stock.is_object(id, p); }));
      put(stock, *cache, id, objects);
    }
    cache->flush(stock.supply);
  }
}

TEST_CASE("a flush gives magazines half full to the depot and the rest to the slabs") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  take(stock, *cache, kOnly, 2 + 8 + 10);  // 22 of 32 are left
  cache->flush(stock.supply);
  CHECK(cache->statistics(kOnly).held == 0);
  CHECK(cache->statistics(kOnly).given == 22);
  CHECK(depth(stock.depot, kOnly) == 1);
  CHECK(cache->allocate(kOnly) == nullptr);

  // 7 of 32 are left, then 1 of 2.
  take(stock, *cache, kOnly, 22 - 7);
  for (const uint64_t left : {7, 1}) {
    CHECK(cache->statistics(kOnly).held == left);
    CHECK(depth(stock.depot, kOnly) == 0);
    const uint64_t before = free_in_slabs(stock, kOnly);
    cache->flush(stock.supply);
    CHECK(depth(stock.depot, kOnly) == 0);
    CHECK(free_in_slabs(stock, kOnly) == before + left);
    take(stock, *cache, kOnly, 1);
  }
}

TEST_CASE("a flushed class starts small again") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  put(stock, *cache, kOnly, take(stock, *cache, kOnly, 3000));
  cache->flush(stock.supply);
  while (Magazine* magazine = take_any(stock.depot, kOnly)) {
    stock.area(kOnly).drain(magazine->objects(), magazine->rounds);
    magazine->rounds = 0;
    stock.store.give_back(magazine);
  }
  take(stock, *cache, kOnly, 1);
  CHECK(cache->statistics(kOnly).held == stock.shape(kOnly).first_rounds - 1U);
}

TEST_CASE("only classes without a trip for as many ticks as given are idle") {
  Stock stock({64, 128, 256});
  const auto cache = std::make_unique<Cache>();
  cache->visits.tick = 10;
  take(stock, *cache, ClassId{1}, 3);
  cache->visits.tick = 11;
  take(stock, *cache, ClassId{2}, 3);
  cache->flush_idle(stock.supply, 2, kNoClass);
  CHECK(cache->statistics(ClassId{1}).held > 0);
  cache->flush_idle(stock.supply, 1, kNoClass);
  CHECK(cache->statistics(ClassId{1}).held == 0);
  CHECK(cache->statistics(ClassId{2}).held > 0);
  // Tick numbers wrap.
  cache->visits.tick = ~0U;
  take(stock, *cache, ClassId{3}, 3);
  cache->flush_idle(stock.supply, 1, kNoClass);
  CHECK(cache->statistics(ClassId{3}).held > 0);
  for (const uint32_t ticks : {4U, 0x7fffU, 0x8000U, 40'000U, 0xffffU}) {
    cache->visits.tick += ticks;
    cache->flush_idle(stock.supply, 3, kNoClass);
    CHECK(cache->statistics(ClassId{3}).held == 0);
    take(stock, *cache, ClassId{3}, 3);
  }
}

TEST_CASE("an exhausted class answers nullptr, and serves again when an object comes back") {
  Stock stock({1024}, 16);
  const auto cache = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *cache, kOnly, stock.capacity(kOnly));
  for (int n = 0; n < 3; ++n) CHECK(stock.allocate(*cache, kOnly) == nullptr);
  stock.release(*cache, kOnly, objects[17]);
  CHECK(stock.allocate(*cache, kOnly) == objects[17]);
  CHECK(stock.allocate(*cache, kOnly) == nullptr);
  put(stock, *cache, kOnly, objects);
  CHECK(take(stock, *cache, kOnly, stock.capacity(kOnly)).size() == objects.size());
}

TEST_CASE("without memory for magazines objects go straight to their slabs") {
  Stock stock({64}, 255, 32);
  constexpr unsigned kCount = 600;
  std::vector<uintptr_t> direct(kCount);
  REQUIRE(stock.area(kOnly).fill(direct.data(), kCount) == kCount);
  std::vector<Magazine*> hidden;
  for (unsigned size = kMagazineSizes; size-- > 0;) {
    while (Magazine* magazine = stock.store.obtain(rounds_of_size(size))) {
      hidden.push_back(magazine);
    }
  }
  const auto cache = std::make_unique<Cache>();
  CHECK(stock.allocate(*cache, kOnly) == nullptr);
  const auto drained = [&] { return stock.area(kOnly).statistics().drained; };
  const auto release = [&](unsigned from, unsigned to) {
    for (unsigned n = from; n < to; ++n) {
      stock.release(*cache, kOnly, reinterpret_cast<void*>(direct[n]));
    }
  };
  release(0, 10);
  CHECK(drained() == 10);

  // With a single magazine to be had, that one is emptied to the slabs whenever it is full.
  stock.store.give_back(hidden.front());
  release(10, kCount);
  CHECK(drained() == 10 + 2 * 256);
  CHECK(cache->statistics(kOnly).held == kCount - 10 - 2 * 256);
  CHECK(cache->statistics(kOnly).given == 0);
  CHECK(stock.allocate(*cache, kOnly) == reinterpret_cast<void*>(direct.back()));
}

TEST_CASE("what is freed once gets few magazines, what comes and goes has them from then on") {
  Stock stock({64}, 1023);
  const ClassId id{1};
  Cache cache;
  const auto up_and_down = [&] {
    std::vector<void*> objects(100'000);
    for (void*& object : objects) object = stock.allocate(cache, id);
    for (void* object : objects) stock.release(cache, id, object);
  };
  up_and_down();
  const uint32_t unearned = depth(stock.depot, id);
  CHECK(unearned <= 24);  // 16, and those that were exchanged for larger ones
  CHECK(stock.area(kOnly).statistics().drained > 90'000);
  up_and_down();
  CHECK(depth(stock.depot, id) > 350);  // 100,000 / 256 = 390
  const uint64_t drained = stock.area(kOnly).statistics().drained;
  up_and_down();
  up_and_down();
  CHECK(stock.area(kOnly).statistics().drained == drained);
}

TEST_CASE("a cache counts what it allocated, holds, took and gave") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  put(stock, *cache, kOnly, take(stock, *cache, kOnly, 1000));
  put(stock, *cache, kOnly, take(stock, *cache, kOnly, 500));
  const CacheStatistics s = cache->statistics(kOnly);
  const AreaStatistics a = stock.area(kOnly).statistics();
  CHECK(s.allocated == 1500);
  CHECK(s.held + s.given - s.taken == a.filled - a.drained);
  CHECK(s.gives - s.takes == depth(stock.depot, kOnly));
}

TEST_CASE("the slow paths say when they went to depot or slabs") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  take(stock, *cache, kOnly, 2 + 1);
  CHECK(cache->tripped);
  cache->tripped = false;
  const std::vector<void*> objects = take(stock, *cache, kOnly, 7);
  CHECK_FALSE(cache->tripped);
  put(stock, *cache, kOnly, objects);
  CHECK_FALSE(cache->tripped);
}

TEST_CASE("a mark stops allocations after just so many, and no object is lost by it") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  Cache::Marks marks{};
  cache->marks = &marks;
  put(stock, *cache, kOnly, take(stock, *cache, kOnly, 64));
  const uint64_t held = cache->statistics(kOnly).held;
  std::set<void*> seen;
  for (uint64_t after : {0, 1, 5, 0, 3}) {
    cache->mark_after(kOnly, after);
    CHECK(cache->statistics(kOnly).held == held - seen.size());
    for (uint64_t n = 0; n < after; ++n) CHECK(seen.insert(cache->allocate(kOnly)).second);
    CHECK(cache->allocate(kOnly) == nullptr);
    CHECK(cache->allocate(kOnly) == nullptr);
    cache->unmark(kOnly);
  }
  CHECK(seen.count(nullptr) == 0);
  CHECK(seen.size() == 9);
  // More than there are: no mark. The slow path and a flush take marks away themselves.
  cache->mark_after(kOnly, held);
  while (void* object = cache->allocate(kOnly)) seen.insert(object);
  put(stock, *cache, kOnly, {seen.begin(), seen.end()});
  cache->mark_after(kOnly, 0);
  CHECK(cache->allocate_slow(stock.supply, kOnly) != nullptr);
  cache->mark_after(kOnly, 2);
  cache->flush(stock.supply);
  CHECK(cache->statistics(kOnly).held == 0);
  const AreaStatistics area = stock.area(kOnly).statistics();
  const CacheStatistics trips = cache->statistics(kOnly);
  CHECK(area.filled - area.drained == 1 + trips.given - trips.taken);
}

TEST_CASE("an empty magazine is traded for a well filled one of the thread's other cache") {
  Stock stock({64});
  const auto cache = std::make_unique<Cache>();
  const auto other = std::make_unique<Cache>();
  const std::vector<void*> objects = take(stock, *cache, kOnly, 2 + 8 + 32);
  while (cache->allocate(kOnly) != nullptr) FAIL("not empty");
  cache->trade(stock.supply, kOnly, *other);  // which has none yet
  CHECK(cache->allocate(kOnly) == nullptr);
  put(stock, *other, kOnly, {objects.begin(), objects.begin() + 4});
  cache->trade(stock.supply, kOnly, *other);  // very few are not worth it
  CHECK(cache->allocate(kOnly) == nullptr);
  put(stock, *other, kOnly, {objects.begin() + 4, objects.end()});
  const uint64_t loaded = other->statistics(kOnly).held;
  CHECK(loaded >= 32);
  cache->tripped = false;
  cache->trade(stock.supply, kOnly, *other);
  CHECK(cache->tripped);
  CHECK(cache->statistics(kOnly).held + other->statistics(kOnly).held == loaded);
  CHECK(cache->allocate(kOnly) == objects.back());  // what was freed last
  // There is something to allocate: nothing changes.
  cache->tripped = false;
  cache->trade(stock.supply, kOnly, *other);
  CHECK_FALSE(cache->tripped);
  cache->flush(stock.supply);
  other->flush(stock.supply);
  CHECK(stock.area(kOnly).statistics().free_objects + depth(stock.depot, kOnly) > 0);
}
