// SPDX-License-Identifier: MIT
// Where the number of ticks matters, Heap::age() ends each tick; where the program's own threads do
// the work, the interval is short and the clock real.
#include "sizeclass/heap/ageing.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "tests/patience.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr uint64_t kInterval = 40;
constexpr size_t kMiB = size_t{1} << 20;
// No block serves so few bytes: whoever asks only comes by.
constexpr size_t kTooSmall = 1;

std::vector<void*> take(StartedHeap& heap, Cache* cache, ClassId id, size_t count) {
  std::vector<void*> objects(count);
  for (auto& object : objects) {
    object = heap->allocate(cache, id);
    if (object == nullptr) FAIL("refused");
    *static_cast<char*>(object) = 1;
  }
  return objects;
}

void put(StartedHeap& heap, Cache* cache, ClassId id, const std::vector<void*>& objects) {
  for (void* object : objects) heap->release(cache, id, object);
}

// Allocates and frees so many bytes of the class.
void peak(StartedHeap& heap, Cache* cache, ClassId id, size_t bytes) {
  put(heap, cache, id, take(heap, cache, id, bytes / heap->classes()[id].object_bytes));
}

void age(StartedHeap& heap, unsigned ticks) {
  for (unsigned n = 0; n < ticks; ++n) heap->age();
}

// Repeats `light` until `done`.
template <typename Light, typename Done>
bool eventually(Light&& light, Done&& done) {
  const auto end = end_of_patience();
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    light();
  }
  return true;
}

}  // namespace

TEST_CASE("memory that nobody needed for an interval in depot and slabs is given back") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 8 * kMiB);
  peak(heap, cache, id, 8 * kMiB);  // the second one has earned its magazines
  heap->detach(cache);
  REQUIRE(heap.of(id).cached_depot > 4000);
  CHECK(heap.of(id).purged_bytes == 0);
  age(heap, LowWater::kTicks);
  CHECK(heap.of(id).cached_depot > 4000);
  age(heap, 1);
  CHECK(heap.of(id).cached_depot == 0);
  CHECK(heap.of(id).purged_bytes < kMiB);  // of slabs that the last objects hold
  age(heap, LowWater::kTicks + 1);
  const ClassStatistics s = heap.of(id);
  CHECK(s.purged_bytes >= 8 * kMiB);
  CHECK(s.cached_slabs == 0);
  CHECK(s.active_bytes == 0);
  CHECK(heap->ageing().waiting_bytes() == 0);
  age(heap, 10);
  CHECK(heap.of(id).purged_bytes == s.purged_bytes);
}

TEST_CASE("what a thread leaves is for the next one, and goes back when none came in an interval") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(256);
  const auto live_shortly = [&] {
    Cache* const cache = heap->attach();
    put(heap, cache, id, take(heap, cache, id, 5));
    heap->detach(cache);
  };
  live_shortly();
  for (unsigned n = 0; n < 20; ++n) live_shortly();  // its magazines have grown
  const ClassStatistics first = heap.of(id);
  for (unsigned n = 0; n < 100; ++n) live_shortly();
  CHECK(heap.of(id).fills == first.fills);
  CHECK(heap.of(id).drains == 0);
  age(heap, LowWater::kTicks);
  CHECK(heap.of(id).cached_threads == first.cached_threads);
  age(heap, 1);
  CHECK(heap.of(id).cached_threads == 0);
  live_shortly();
  CHECK(heap.of(id).cached_threads > 0);
  heap->trim(nullptr);
  CHECK(heap.of(id).cached_threads == 0);
  CHECK(heap->resident_bytes() == 0);
}

TEST_CASE("threads that come by empty what others have left") {
  StartedHeap heap(roomy(kInterval));
  const ClassId id = heap->classes().find(256), mine = heap->classes().find(64);
  Cache* const cache = heap->attach();
  Cache* const other = heap->attach();
  put(heap, other, id, take(heap, other, id, 5));
  heap->detach(other);
  CHECK(heap.of(id).cached_threads > 0);
  CHECK(eventually([&] { peak(heap, cache, mine, kMiB); },
                   [&] { return heap.of(id).cached_threads == 0; }));
}

TEST_CASE("few threads may leave something, and of that little") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(256);
  std::vector<Cache*> caches(100);
  for (Cache*& cache : caches) {
    cache = heap->attach();
    put(heap, cache, id, take(heap, cache, id, 5));
  }
  const uint64_t each = heap.of(id).cached_threads / caches.size();
  for (Cache* cache : caches) heap->detach(cache);
  CHECK(heap.of(id).cached_threads == 16 * each);
  heap->trim(nullptr);
  Cache* const cache = heap->attach();
  put(heap, cache, id, take(heap, cache, id, 1000));
  CHECK(heap.of(id).cached_threads * 256 > ClassTable::kUsualMagazineBytes);
  heap->detach(cache);
  CHECK(heap.of(id).cached_threads == 0);
}

TEST_CASE("memory that is needed once in every interval stays") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  for (unsigned n = 0; n < 10; ++n) {
    peak(heap, cache, id, 4 * kMiB);
    age(heap, LowWater::kTicks - 1);
  }
  CHECK(heap.of(id).purged_bytes == 0);
  CHECK(heap.of(id).drains == 0);
}

TEST_CASE("of slabs that few objects hold the free pages are given back") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(3000);
  std::vector<void*> objects = take(heap, cache, id, 32 * kMiB / 3000);
  for (size_t i = 0; i < objects.size(); ++i) {
    if (i % 16 != 0) heap->release(cache, id, objects[i]);
  }
  heap->detach(cache);
  cache = heap->attach();
  age(heap, 2 * (LowWater::kTicks + 1));
  CHECK(heap.of(id).active_bytes > 30 * kMiB);
  CHECK(heap->resident_bytes() < 12 * kMiB);
  for (size_t i = 0; i < objects.size(); i += 16) {
    if (*static_cast<char*>(objects[i]) != 1) FAIL("not as it was");
  }

  // What comes then is served beside those that live, not from new slabs.
  const uint64_t active = heap.of(id).active_bytes;
  const std::vector<void*> more = take(heap, cache, id, 16 * kMiB / 3000);
  CHECK(heap.of(id).active_bytes == active);
  put(heap, cache, id, more);
  heap->trim(cache);
  CHECK(heap->resident_bytes() < 12 * kMiB);
}

TEST_CASE("slabs that few objects hold are thinned while other classes grow") {
  StartedHeap heap(roomy(3'600'000));  // no tick ends by time
  Cache* cache = heap->attach();
  // Of each class so little that it is no great part of all.
  for (size_t bytes = 3000; bytes < 15'000; bytes += bytes / 8) {
    const ClassId id = heap->classes().find(bytes);
    std::vector<void*> objects = take(heap, cache, id, 10 * kMiB / bytes);
    for (size_t i = 0; i < objects.size(); ++i) {
      if (i % 16 != 0) heap->release(nullptr, id, objects[i]);  // to its slab
    }
  }
  CHECK(heap->open_bytes() > 100 * kMiB);
  // What a tick by growth found to do goes on at visits.
  CHECK(eventually([&] { heap->allocate_block(cache, kTooSmall); },
                   [&] { return heap->resident_bytes() < 22 * kMiB; }));
}

TEST_CASE("slabs are not thinned while objects come back to them, and others grow") {
  StartedHeap heap(roomy(3'600'000));  // no tick ends by time
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(3000), other = heap->classes().find(5000);
  const std::vector<void*> objects = take(heap, cache, id, 32 * kMiB / 3000);
  size_t next = 0;
  const auto grow = [&](bool releases) {
    for (unsigned n = 0; n < 64; ++n) {
      take(heap, cache, other, 512 * 1024 / 5000);
      // Those that lie together, so that whole pages are free.
      for (unsigned k = 0; releases && k < 32; ++k, ++next) {
        if (next % 16 != 0) heap->release(nullptr, id, objects[next]);
      }
      heap->allocate_block(cache, kTooSmall);
    }
  };
  grow(true);
  CHECK(heap.of(id).cached_slabs > 1500);
  CHECK(heap.of(id).purged_bytes == 0);
  grow(false);
  CHECK(eventually([&] { heap->allocate_block(cache, kTooSmall); },
                   [&] { return heap.of(id).purged_bytes > kMiB; }));
}

TEST_CASE("of a peak only what the work no longer needs is given back") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 16 * kMiB);
  for (unsigned n = 0; n < 4 * LowWater::kTicks; ++n) {
    peak(heap, cache, id, 4 * kMiB);
    age(heap, 1);
  }
  const ClassStatistics s = heap.of(id);
  CHECK(s.purged_bytes >= 10 * kMiB);
  CHECK(s.committed_bytes <= 7 * kMiB + s.purged_bytes / 4);  // and what is committed ahead
  CHECK((s.cached_threads + s.cached_depot) * s.object_bytes >= 4 * kMiB - 2 * 1536 * 256);
  age(heap, 1);
  const uint64_t fills = heap.of(id).fills;
  peak(heap, cache, id, 3 * kMiB);
  CHECK(heap.of(id).fills == fills);
}

TEST_CASE("what one thread left goes, and what another one uses meanwhile stays") {
  StartedHeap heap(roomy());
  Cache* busy = heap->attach();  // its magazines lie in the first part of the depot
  Cache* idle = heap->attach();
  const ClassId id = heap->classes().find(64);
  const std::vector<void*> used = take(heap, busy, id, 2000);
  const std::vector<void*> left = take(heap, idle, id, 2000);
  put(heap, busy, id, used);
  put(heap, idle, id, left);
  const std::set<void*> its_own(used.begin(), used.end());
  for (unsigned tick = 0; tick <= 2 * LowWater::kTicks; ++tick) {
    age(heap, 1);
    const std::vector<void*> again = take(heap, busy, id, 1500);
    CHECK(std::count_if(again.begin(), again.end(),
                        [&](void* object) { return its_own.count(object) != 0; }) >= 1500 - 256);
    put(heap, busy, id, again);
  }
  CHECK(heap->ageing().aged(id) > 1000);
}

TEST_CASE("magazines and slabs that nobody needs are not purged before they waited") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  peak(heap, cache, id, kMiB / 4);  // few enough for the depot to take all
  heap->detach(cache);
  uint64_t last = 0;
  for (unsigned tick = 1; tick <= 2 * LowWater::kTicks; ++tick) {
    age(heap, 1);
    last = heap.of(id).purged_bytes;
    CHECK(last == 0);
  }
  age(heap, 2);
  CHECK(heap.of(id).purged_bytes > 0);
}

TEST_CASE("objects that went from the depot to slabs are counted as aged") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(256);
  peak(heap, cache, id, kMiB);
  const uint64_t in_depot = heap.of(id).cached_depot;
  REQUIRE(in_depot > 0);
  age(heap, LowWater::kTicks + 1);
  CHECK(heap->ageing().aged(id) == in_depot);
  CHECK(heap.of(id).cached_depot == 0);
  CHECK(heap.of(id).live == 0);
}

TEST_CASE("a trim gives back everything at once") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 8 * kMiB);
  const uint64_t metadata = heap.statistics().metadata_bytes;
  const uint64_t resident = heap->resident_bytes();
  const uint64_t bytes = heap->trim(cache);
  const ClassStatistics s = heap.of(id);
  CHECK(s.cached_threads == 0);
  CHECK(s.cached_depot == 0);
  CHECK(s.cached_slabs == 0);
  CHECK(s.active_bytes == 0);
  CHECK(heap.statistics().metadata_bytes < metadata);
  CHECK(bytes == s.purged_bytes + (metadata - heap.statistics().metadata_bytes));
  CHECK(resident >= 8 * kMiB - 16 * 4096);
  CHECK(heap->resident_bytes() == 0);
  CHECK(heap->ageing().waiting_bytes() == 0);
  CHECK(heap->trim(cache) == 0);
  take(heap, cache, id, 10);
  CHECK(heap.of(id).live == 10);
}

TEST_CASE("a trim keeps what is live, and the slabs around it") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  std::vector<void*> objects = take(heap, cache, id, 1000);
  void* kept = objects[500];
  *static_cast<uint64_t*>(kept) = 0x1234567890abcdef;
  objects.erase(objects.begin() + 500);
  put(heap, cache, id, objects);
  heap->trim(cache);
  const ClassStatistics s = heap.of(id);
  const SizeClass& c = heap->classes()[id];
  CHECK(*static_cast<uint64_t*>(kept) == 0x1234567890abcdef);
  CHECK(s.live == 1);
  CHECK(s.active_bytes == uint64_t{c.units} << SlabPool::kUnitShift);
  CHECK(s.cached_slabs == c.objects_per_slab - 1U);
}

TEST_CASE("threads that come by after a peak give it back by themselves") {
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  const ClassId other = heap->classes().find(100);
  peak(heap, cache, id, 16 * kMiB);
  CHECK(eventually(
      [&] {
        peak(heap, cache, other, 64 * 1024);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      },
      [&] { return heap.of(id).purged_bytes >= 15 * kMiB; }));
  // The thread's own magazines of the class, which it no longer uses, as well.
  CHECK(eventually([&] { peak(heap, cache, other, 64 * 1024); },
                   [&] { return heap.of(id).cached_threads == 0; }));
  CHECK(heap.of(id).live == 0);
}

TEST_CASE("a thread that hovers inside its loaded magazine gives the peak back") {
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 8 * kMiB);
  CHECK(eventually(
      [&] {
        for (int n = 0; n < 1000; ++n) heap->release(cache, id, heap->allocate(cache, id));
      },
      [&] { return heap.of(id).purged_bytes >= 7 * kMiB; }));
  CHECK(eventually(
      [&] {
        for (int n = 0; n < 1000; ++n) heap->release(cache, id, heap->allocate(cache, id));
      },
      [&] { return !cache->visits.watched; }));
}

// Its calls as malloc and free make them: the slow path only when it is watched or a list ends.
TEST_CASE("a busy thread is watched for few calls a millisecond, while much waits") {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed_ms = [&] {
    return static_cast<uint64_t>((std::chrono::steady_clock::now() - start) /
                                 std::chrono::milliseconds(1));
  };
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  peak(heap, cache, id, 32 * kMiB);
  std::vector<void*> objects(2000);
  uint64_t watched = 0;
  const auto end = end_of_patience();  // the peak alone may have taken the 100 ms
  while (elapsed_ms() < 100 || (watched <= 100 && std::chrono::steady_clock::now() < end)) {
    for (void*& object : objects) {
      const bool seen = cache->visits.watched;
      watched += seen;
      object = seen ? nullptr : cache->allocate(id);
      if (object == nullptr) object = heap->allocate(cache, id);
    }
    for (void* object : objects) {
      if (!cache->release(id, object)) heap->release(cache, id, object);
    }
  }
  INFO(watched << " calls in " << elapsed_ms() << " ms");
  CHECK(watched > 100);
  CHECK(watched < 6000 + 160 * (elapsed_ms() + 10));
}

TEST_CASE("of a watched thread's allocations each 64th looks at what waits") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  peak(heap, cache, id, 32 * kMiB);
  REQUIRE(cache->visits.watched);
  constexpr unsigned kCalls = 64 * 50;
  unsigned looks = 0;
  for (unsigned n = 0; n < kCalls && cache->visits.watched; ++n) {
    void* object = cache->allocate_unlooked(id, heap->due());
    if (object == nullptr) {
      ++looks;
      object = heap->allocate(cache, id);
    }
    if (!cache->release(id, object)) FAIL("no room for what was just taken");
  }
  CHECK(cache->visits.watched);
  CHECK(looks >= kCalls / 65);
  CHECK(looks <= kCalls / 64 + 10);  // and when the time had come
}

TEST_CASE("a thread is not watched while little waits") {
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  for (int n = 0; n < 200; ++n) {
    peak(heap, cache, id, 128 * 1024);
    CHECK_FALSE(cache->visits.watched);
    if (n % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_CASE("a class that a thread no longer uses is flushed at its trip for another") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId idle = heap->classes().find(64);
  const ClassId busy = heap->classes().find(128);
  take(heap, cache, idle, 1);
  REQUIRE(heap.of(idle).cached_threads == 1);
  age(heap, LowWater::kTicks);
  take(heap, cache, busy, 100);
  CHECK(heap.of(idle).cached_threads == 1);
  age(heap, 1);
  take(heap, cache, busy, 1000);
  CHECK(heap.of(idle).cached_threads == 0);
  CHECK(heap.of(idle).cached_depot == 0);  // it has waited long enough
  CHECK(heap.of(busy).cached_threads + heap.of(busy).live > 0);
}

TEST_CASE("one call flushes one of the classes that a thread no longer uses, the next another") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId first = heap->classes().find(64), second = heap->classes().find(1500);
  peak(heap, cache, first, 1000);
  peak(heap, cache, second, 10000);
  const auto held = [&] {
    return (heap.of(first).cached_threads != 0) + (heap.of(second).cached_threads != 0);
  };
  REQUIRE(held() == 2);
  age(heap, LowWater::kTicks + 1);
  const ClassId busy = heap->classes().find(128);
  take(heap, cache, busy, 1);
  CHECK(held() == 1);
  CHECK(eventually([&] { peak(heap, cache, busy, 64 * 1024); }, [&] { return held() == 0; }));
}

TEST_CASE("a thread that the heap does not serve gives the peak back as well") {
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 16 * kMiB);
  CHECK(eventually(
      [&] {
        heap->allocate_block(cache, kTooSmall);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      },
      [&] { return heap.of(id).purged_bytes >= 15 * kMiB; }));
}

TEST_CASE("a thread that starts late keeps its first magazine") {
  StartedHeap heap(roomy());
  age(heap, 100);
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  take(heap, cache, id, 1);
  CHECK(heap.of(id).cached_threads == 1);
  CHECK(heap.of(id).depot_gives == 0);
}

TEST_CASE("with a background a thread that hovers lets go of what it no longer uses") {
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  Cache* second = heap->attach();
  heap->ageing().use_background([] {});
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 16 * kMiB);
  REQUIRE(heap.of(id).cached_threads > 0);
  const ClassId other = heap->classes().find(64);
  CHECK(eventually(
      [&] {
        age(heap, 1);
        for (int n = 0; n < 100; ++n) heap->release(cache, other, heap->allocate(cache, other));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        // Something goes on waiting.
        if (heap->ageing().waiting_bytes() < 2 * kMiB) peak(heap, second, id, 8 * kMiB);
      },
      [&] { return cache->statistics(id).held == 0; }));
}

TEST_CASE("with a background the threads only wake it") {
  static std::atomic<unsigned> wakes;
  wakes = 0;
  StartedHeap heap(roomy(kInterval));
  Cache* cache = heap->attach();
  heap->ageing().use_background([] { ++wakes; });
  const ClassId id = heap->classes().find(1500);
  peak(heap, cache, id, 16 * kMiB);
  CHECK(eventually([&] { peak(heap, cache, id, 2 * kMiB); }, [&] { return wakes > 3; }));
  CHECK(heap.of(id).purged_bytes == 0);
  age(heap, 2 * LowWater::kTicks + 2);
  CHECK(heap.of(id).purged_bytes >= 8 * kMiB);
  heap->ageing().use_background(nullptr);
  const unsigned before = wakes;
  peak(heap, cache, id, 2 * kMiB);
  CHECK(wakes == before);
}

TEST_CASE("waiting bytes tell what will go back") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  CHECK(heap->age() == 0);
  peak(heap, cache, id, 8 * kMiB);
  heap->detach(cache);
  const uint64_t waiting = heap->age();
  CHECK(waiting >= 7 * kMiB);
  CHECK(waiting <= 10 * kMiB);
  CHECK(heap.statistics().waiting_bytes == waiting);
  age(heap, 2 * LowWater::kTicks + 2);
  CHECK(heap.statistics().waiting_bytes == 0);
}

TEST_CASE("empty magazines are given back like any object") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(16);
  Cache* cache = heap->attach();
  peak(heap, cache, id, 8 * kMiB);
  peak(heap, cache, id, 8 * kMiB);  // the second one has earned its magazines
  heap->detach(cache);
  const uint64_t at_peak = heap.statistics().metadata_bytes;
  age(heap, 4 * LowWater::kTicks);
  CHECK(heap.statistics().metadata_bytes + 3 * kMiB < at_peak);
}

TEST_CASE("what one class freed makes room while another grows, before any time has passed") {
  StartedHeap heap(roomy(1999));  // ticks of half a second
  Cache* cache = heap->attach();
  const ClassId first = heap->classes().find(1500);
  const ClassId second = heap->classes().find(600);
  peak(heap, cache, first, 32 * kMiB);
  take(heap, cache, second, 32 * kMiB / 608);
  CHECK(heap.of(first).active_bytes <= 8 * kMiB);
  CHECK(heap->open_bytes() <= 44 * kMiB);
  CHECK(heap.of(first).purged_bytes == 0);  // it went over
}

TEST_CASE("a class that takes what it freed purges nothing, however often") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(1500);
  for (unsigned n = 0; n < 20; ++n) peak(heap, cache, id, 32 * kMiB);
  CHECK(heap.of(id).purged_bytes == 0);
}

TEST_CASE("with a background as well the threads that grow make room") {
  static std::atomic<unsigned> woken;
  StartedHeap heap(roomy(1999));
  heap->ageing().use_background([] { ++woken; });
  Cache* cache = heap->attach();
  const ClassId first = heap->classes().find(1500);
  peak(heap, cache, first, 32 * kMiB);
  take(heap, cache, heap->classes().find(600), 32 * kMiB / 608);
  CHECK(heap.of(first).active_bytes <= 8 * kMiB);
  heap->ageing().use_background(nullptr);
}
