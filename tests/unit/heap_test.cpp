// SPDX-License-Identifier: MIT
#include "sizeclass/heap/heap.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "sizeclass/base/memory.h"
#include "tests/unit/child.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

std::vector<void*> take_all(Heap& heap, Cache* cache, ClassId id) {
  std::vector<void*> objects;
  while (void* object = heap.allocate(cache, id)) objects.push_back(object);
  return objects;
}

void put(Heap& heap, Cache* cache, ClassId id, const std::vector<void*>& objects) {
  for (void* object : objects) heap.release(cache, id, object);
}

// What must hold of every snapshot that was taken while nobody was inside.
void check_sums(StartedHeap& heap, const ClassStatistics& s, ClassId id) {
  const SizeClass& c = heap->classes()[id];
  CAPTURE(c.object_bytes);
  CHECK(s.live == s.allocs - s.frees);
  CHECK(s.committed_bytes == s.active_bytes + s.free_bytes);
  const uint64_t objects = s.live + s.cached_threads + s.cached_depot + s.cached_slabs;
  CHECK(objects % c.objects_per_slab == 0);
  const uint64_t slab_bytes = uint64_t{c.units} << SlabPool::kUnitShift;
  CHECK(objects / c.objects_per_slab * slab_bytes == s.active_bytes);
}

}  // namespace

TEST_CASE("before it starts a heap owns nothing and gives nothing") {
  const auto heap = std::make_unique<Heap>();
  int local = 0;
  const auto on_heap = std::make_unique<char[]>(100);
  for (const void* p : {static_cast<const void*>(&local), static_cast<const void*>(on_heap.get()),
                        static_cast<const void*>(nullptr), reinterpret_cast<const void*>(&memcpy),
                        reinterpret_cast<const void*>(~uintptr_t{0})}) {
    CHECK_FALSE(heap->owns(p));
  }
  CHECK(heap->attach() == nullptr);
  CHECK(heap->trim(nullptr) == 0);
  CHECK(heap->resident_bytes() == 0);
  HeapStatistics s;
  heap->statistics(s);
  CHECK(s.classes == 0);
  CHECK(s.reserved_bytes == 0);
}

TEST_CASE("the owner of every object is its class, and foreign pointers have none") {
  StartedHeap heap(roomy());
  REQUIRE(heap.started);
  Cache* cache = heap->attach();
  int local = 0;
  const auto on_heap = std::make_unique<char[]>(100);
  CHECK_FALSE(heap->owns(&local));
  CHECK_FALSE(heap->owns(on_heap.get()));
  CHECK_FALSE(heap->owns(nullptr));
  CHECK_FALSE(heap->owns(cache));
  CHECK_FALSE(heap->owns(reinterpret_cast<void*>(~uintptr_t{0})));
  CHECK_FALSE(heap->owns(reinterpret_cast<void*>(heap->base())));
  for (const ClassId id : heap->classes().ids()) {
    const size_t bytes = heap->classes()[id].object_bytes;
    CAPTURE(bytes);
    char* object = static_cast<char*>(heap->allocate(cache, id));
    REQUIRE(object != nullptr);
    memset(object, 0x11, bytes);
    CHECK(heap->class_of(object) == id);
    CHECK(heap->class_of(object + bytes - 1) == id);
    heap->release(cache, id, object);
  }
}

TEST_CASE("every object is aligned as its class promises") {
  StartedHeap heap(roomy());
  Cache* cache = heap->attach();
  for (const ClassId id : heap->classes().ids()) {
    const size_t alignment = heap->classes()[id].alignment();
    CAPTURE(heap->classes()[id].object_bytes, alignment);
    unsigned wrong = 0;
    for (int n = 0; n < 12; ++n) {
      wrong += reinterpret_cast<uintptr_t>(heap->allocate(cache, id)) % alignment != 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an address belongs to the class that has its unit, and to nobody while none has") {
  StartedHeap heap(tiny());
  const ClassId one = heap->classes().find(64), other = heap->classes().find(128);
  void* const first = heap->allocate(nullptr, one);
  CHECK(heap->class_of(first) == one);
  heap->release(nullptr, one, first);
  CHECK_FALSE(heap->owns(first));
  heap->allocate(nullptr, other);
  CHECK(heap->class_of(first) == other);
}

TEST_CASE("a walk comes by each object of a slab, and by each block once") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(1536);
  void* const object = heap->allocate(nullptr, id);
  void* const block = heap->allocate_block(nullptr, size_t{1} << 20);
  heap->release_block(nullptr, heap->allocate_block(nullptr, size_t{2} << 20));
  std::vector<uintptr_t> objects, blocks;
  heap->each_object([&](ClassId of, uintptr_t start) {
    (of == id ? objects : blocks).push_back(start);
    CHECK((of == id || of == kNoClass));
    CHECK(heap->object_at(of, reinterpret_cast<char*>(start) + 1535) == start);
  });
  CHECK(objects.size() == heap->classes()[id].objects_per_slab);
  CHECK(std::ranges::count(objects, reinterpret_cast<uintptr_t>(object)) == 1);
  CHECK(blocks == std::vector{reinterpret_cast<uintptr_t>(block)});
}

TEST_CASE("a heap of default size starts, and maps little") {
  StartedHeap heap(whole());
  REQUIRE(heap.started);
  void* object = heap->allocate(nullptr, heap->classes().find(1536));
  REQUIRE(object != nullptr);
  CHECK(heap->class_of(object) == heap->classes().find(1536));
  CHECK(heap.statistics().reserved_bytes == heap->mapped_bytes());
  CHECK(heap->mapped_bytes() <= size_t{2} << 20);
}

TEST_CASE("a heap begins elsewhere where somebody has the place of its objects") {
  const auto heap = std::make_unique<Heap>(), next = std::make_unique<Heap>();
  REQUIRE(heap->start({}));
  const uintptr_t base = heap->base();
  heap->stop();
  void* const there = reinterpret_cast<void*>(base);
  REQUIRE(memory::map(there, memory::page_bytes()));
  REQUIRE(next->start({}));
  CHECK(next->base() != base);
  CHECK(next->allocate(nullptr, ClassId{1}) != nullptr);
  next->stop();
  CHECK(memory::release(there, memory::page_bytes()));
}

TEST_CASE("a stopped heap leaves no address space behind") {
  const size_t before = process_bytes("VmSize");
  for (const HeapConfig& config : {whole(), roomy(), tiny()}) {
    StartedHeap heap(config);
    REQUIRE(heap.started);
    heap->attach();
    for (const ClassId id : heap->classes().ids()) heap->allocate(nullptr, id);
    CHECK(process_bytes("VmSize") >= before + heap.statistics().reserved_bytes);
    heap->stop();
    CHECK(process_bytes("VmSize") <= before + (size_t{1} << 20));
    CHECK_FALSE(heap->owns(&heap));
  }
}

TEST_CASE("a heap that found no memory pools nothing and breaks nothing") {
  const auto ending = end_of_child([] {
    limit_to(RLIMIT_DATA, process_bytes("VmData"), 0);
    StartedHeap heap(whole());
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    if (heap.started || heap->started()) return 1;
    if (heap->classes().count() != 0 || heap->classes().find(64) != kNoClass) return 2;
    if (heap->attach() != nullptr || heap->allocate(nullptr, kNoClass) != nullptr) return 3;
    int local = 0;
    if (heap->owns(&local)) return 4;
    if (heap->age() != 0 || heap->trim(nullptr) != 0) return 5;
    heap->lock_all();
    heap->unlock_all();
    return 0;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("a heap exhausted says so, and what comes back serves every class") {
  for (const size_t mib : {4, 5, 16}) {
    StartedHeap heap(tiny(mib << 20));
    REQUIRE(heap.started);
    Cache* cache = heap->attach();
    for (const size_t bytes : {16, 592, 1536, 9216, 262144, 64}) {
      const ClassId id = heap->classes().find(bytes);
      CAPTURE(mib, bytes);
      const std::vector<void*> objects = take_all(heap.heap, cache, id);
      CHECK(objects.size() == heap.capacity(id));
      CHECK(std::set<void*>(objects.begin(), objects.end()).size() == objects.size());
      CHECK(heap->allocate(nullptr, id) == nullptr);
      CHECK(heap.of(id).live == objects.size());
      check_sums(heap, heap.of(id), id);
      put(heap.heap, cache, id, objects);
      CHECK(take_all(heap.heap, cache, id).size() == objects.size());
      put(heap.heap, cache, id, objects);
      heap->trim(cache);
    }
  }
}

TEST_CASE("kNoClass is served by nobody") {
  StartedHeap heap(tiny());
  CHECK(heap->allocate(nullptr, kNoClass) == nullptr);
}

TEST_CASE("a heap of two classes pools those alone") {
  const size_t sizes[] = {64, 1536};
  HeapConfig config = tiny();
  config.sizes = sizes;
  config.sizes_count = 2;
  StartedHeap heap(config);
  CHECK(heap->classes().count() == 2);
  CHECK(heap.statistics().classes == 2);
  Cache* cache = heap->attach();
  void* object = heap->allocate(cache, heap->classes().find(1500));
  CHECK(heap->class_of(object) == ClassId{2});
  CHECK(heap->classes().find(200) == kNoClass);
}

TEST_CASE("without a cache every request works on the slabs directly") {
  StartedHeap heap(tiny());
  const ClassId id = heap->classes().find(592);
  const std::vector<void*> objects = take_all(heap.heap, nullptr, id);
  CHECK(objects.size() == heap.capacity(id));
  ClassStatistics s = heap.of(id);
  CHECK(s.allocs == objects.size());
  CHECK(s.cached_threads + s.cached_depot + s.cached_slabs == 0);
  put(heap.heap, nullptr, id, objects);
  s = heap.of(id);
  CHECK(s.frees == objects.size());
  CHECK(s.live == 0);
  check_sums(heap, s, id);
}

TEST_CASE("a detached cache passes to the next thread with its counters") {
  StartedHeap heap(tiny());
  const ClassId id = heap->classes().find(64);
  Cache* first = heap->attach();
  Cache* second = heap->attach();
  CHECK(first != second);
  CHECK(heap->threads_alive() == 2);
  std::vector<void*> objects;
  for (int n = 0; n < 1000; ++n) objects.push_back(heap->allocate(first, id));
  put(heap.heap, first, id, objects);
  heap->detach(first);
  CHECK(heap->threads_alive() == 1);
  CHECK(heap.of(id).allocs == 1000);
  CHECK(heap.of(id).frees == 1000);
  CHECK(heap->attach() == first);
  CHECK(heap.of(id).allocs == 1000);
  CHECK(heap.statistics().threads_seen == 3);
}

TEST_CASE("when the caches are exhausted a thread gets none and works without") {
  StartedHeap heap(tiny());
  std::vector<Cache*> caches;
  while (Cache* cache = heap->attach()) caches.push_back(cache);
  CHECK(caches.size() > 500);
  CHECK(std::set<Cache*>(caches.begin(), caches.end()).size() == caches.size());
  CHECK(heap->threads_alive() == caches.size());
  CHECK(heap->allocate(nullptr, ClassId{3}) != nullptr);
  heap->detach(caches[2]);
  CHECK(heap->attach() == caches[2]);
}

TEST_CASE("statistics agree with what was done, class by class") {
  StartedHeap heap(tiny());
  Cache* one = heap->attach();
  Cache* two = heap->attach();
  const ClassIds few(kClassIds.data(), 20);
  for (const ClassId id : few) {
    const unsigned i = index(id);
    std::vector<void*> objects;
    for (unsigned n = 0; n < 200 + i; ++n) objects.push_back(heap->allocate(one, id));
    for (unsigned n = 0; n < 100; ++n) heap->release(two, id, objects[n]);
    heap->release(nullptr, id, objects[100]);
    const ClassStatistics s = heap.of(id);
    CHECK(s.object_bytes == heap->classes()[id].object_bytes);
    CHECK(s.allocs == 200 + i);
    CHECK(s.frees == 101);
    CHECK(s.live == 99 + i);
    CHECK(s.purged_bytes == 0);
    check_sums(heap, s, id);
  }
  heap->trim(one);
  for (const ClassId id : few) check_sums(heap, heap.of(id), id);
  heap->detach(two);
  heap->trim(one);
  for (const ClassId id : few) {
    const ClassStatistics s = heap.of(id);
    CHECK(s.cached_threads + s.cached_depot == 0);
    CHECK(s.live == 99 + index(id));
    check_sums(heap, s, id);
  }
  const HeapStatistics all = heap.statistics();
  CHECK(all.metadata_bytes > 0);
  CHECK(all.reserved_bytes >= all.metadata_bytes + heap->open_bytes() / 2);
  CHECK(all.threads_alive == 1);
  CHECK(all.threads_seen == 2);
}

TEST_CASE("resident bytes are those that were touched") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(65536);
  CHECK(heap->resident_bytes() == 0);
  void* object = heap->allocate(nullptr, id);
  memset(object, 1, 65536);
  CHECK(heap->resident_bytes() == 65536);
  heap->release(nullptr, id, object);
  heap->trim(nullptr);
  CHECK(heap->resident_bytes() == 0);
}

TEST_CASE("a heap whose locks were all taken and given back goes on as before") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* cache = heap->attach();
  const ClassId id = heap->classes().find(64);
  for (int n = 0; n < 500; ++n) heap->allocate(cache, id);
  for (int round = 0; round < 3; ++round) {
    heap->lock_all();
    heap->unlock_all();
    for (int n = 0; n < 500; ++n) heap->allocate(cache, id);
  }
  CHECK(heap.of(id).live == 2000);
}

TEST_CASE("the child of a fork goes on, and counts itself alone") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* mine = heap->attach();
  Cache* others = heap->attach();
  const ClassId id = heap->classes().find(64);
  std::vector<void*> objects;
  for (int n = 0; n < 300; ++n) objects.push_back(heap->allocate(n % 2 ? mine : others, id));
  heap->lock_all();
  const auto ending = end_of_child([&] {
    heap->unlock_all();
    heap->forget_other_threads(mine);
    if (heap->threads_alive() != 1) return 1;
    for (void* object : objects) heap->release(mine, id, object);
    if (heap.of(id).live != 0) return 2;
    Cache* another = heap->attach();
    if (another == nullptr || another == mine || another == others) return 3;
    std::set<void*> taken;
    while (void* object = heap->allocate(another, id)) {
      if (!taken.insert(object).second) return 4;
    }
    const ClassStatistics s = heap.of(id);
    if (s.live != taken.size()) return 5;
    return s.live + s.cached_threads + s.cached_depot == heap.capacity(id) ? 0 : 6;
  });
  heap->unlock_all();
  CHECK(ending.status == 0);
  CHECK(heap->threads_alive() == 2);
  CHECK(heap.of(id).live == 300);
}

TEST_CASE("a refused commit answers nullptr, keeps errno and loses nothing") {
  const auto ending = end_of_child([] {
    StartedHeap heap(roomy());
    Cache* cache = heap->attach();
    const ClassId id = heap->classes().find(4096);
    std::vector<void*> objects;
    objects.reserve(heap.capacity(id));
    for (int n = 0; n < 1000; ++n) objects.push_back(heap->allocate(cache, id));
    limit_to(RLIMIT_DATA, process_bytes("VmData"), 0);
    errno = 77;
    while (void* object = heap->allocate(cache, id)) objects.push_back(object);
    if (errno != 77) return 1;
    if (objects.size() < 1000 || objects.size() == heap.capacity(id)) return 2;
    if (heap->allocate(nullptr, id) != nullptr) return 3;
    ClassStatistics s = heap.of(id);
    if (s.live != objects.size() || s.allocs != objects.size()) return 4;
    if (s.cached_threads + s.cached_depot + s.cached_slabs != 0) return 5;
    // What is freed can be had again under the limit, and new memory once it is lifted.
    void* const back = objects.back();
    heap->release(cache, id, back);
    if (heap->allocate(cache, id) != back) return 6;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    while (void* object = heap->allocate(cache, id)) objects.push_back(object);
    if (objects.size() != heap.capacity(id)) return 7;
    s = heap.of(id);
    if (s.live != objects.size()) return 8;
    for (void* object : objects) heap->release(cache, id, object);
    heap->trim(cache);
    s = heap.of(id);
    return s.live == 0 && s.frees == s.allocs && s.active_bytes == 0 ? 0 : 9;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("a thread whose cache is refused works without, and gets one when the limit is lifted") {
  const auto ending = end_of_child([] {
    StartedHeap heap(roomy());
    void* before = heap->allocate(nullptr, ClassId{1});
    limit_to(RLIMIT_DATA, process_bytes("VmData"), 0);
    unsigned first = 0;  // caches that fit in what the heap has
    while (heap->attach() != nullptr && first < 1000) ++first;
    if (first == 1000) return 1;
    if (heap->threads_alive() != first) return 2;
    void* during = heap->allocate(nullptr, ClassId{1});
    if (during == nullptr || during == before) return 3;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    return heap->attach() != nullptr ? 0 : 4;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("a heap maps nothing for objects before it needs it, and two lie apart") {
  StartedHeap first(whole()), second(whole());
  CHECK(first->mapped_bytes() < size_t{1} << 20);
  CHECK(first->bytes() == 0);
  CHECK(first->base() != second->base());
  const void* const object = first->allocate(nullptr, ClassId{1});
  REQUIRE(object != nullptr);
  CHECK(first->class_of(object) == ClassId{1});
  CHECK(second->class_of(object) == ClassId{0});
}

TEST_CASE("under a limit of addresses a heap starts, and grows until it is reached") {
  const auto ending = end_of_child([] {
    const size_t now = process_bytes("VmSize");
    limit_to(RLIMIT_AS, now, size_t{32} << 20);
    StartedHeap heap(whole());
    if (!heap.started) return 1;
    size_t had = 0;
    while (heap->allocate(nullptr, heap->classes().find(1536)) != nullptr) ++had;
    return had * 1536 >= size_t{24} << 20 ? 0 : 2;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("a heap told of a small limit of addresses takes no more of them") {
  StartedHeap heap(roomy());
  const ClassId small = heap->classes().find(64), large = heap->classes().find(4096);
  const std::vector<void*> objects = [&] {
    std::vector<void*> some;
    for (int n = 0; n < 10'000; ++n) some.push_back(heap->allocate(nullptr, small));
    return some;
  }();
  heap->limit_addresses(Heap::kFewAddresses - 1);
  CHECK(heap->allocate(nullptr, large) == nullptr);
  put(heap.heap, nullptr, small, objects);
  CHECK(heap->allocate(nullptr, large) != nullptr);
  heap->limit_addresses(Heap::kFewAddresses);
  for (int n = 0; n < 1000; ++n) CHECK(heap->allocate(nullptr, large) != nullptr);
}

TEST_CASE("a decommit gives addresses back, and keeps what is live") {
  StartedHeap heap(roomy());
  const ClassId id = heap->classes().find(4096);
  std::vector<void*> objects;
  for (int n = 0; n < 4000; ++n) objects.push_back(heap->allocate(nullptr, id));
  auto* const kept = static_cast<uint64_t*>(objects[10]);
  *kept = 4711;
  objects.erase(objects.begin() + 10);
  put(heap.heap, nullptr, id, objects);
  const size_t mapped = heap->mapped_bytes();
  heap->decommit(nullptr);
  CHECK(heap->mapped_bytes() + (size_t{15} << 20) <= mapped);
  CHECK(*kept == 4711);
  CHECK(heap->class_of(kept) == id);
  CHECK_FALSE(heap->owns(objects.back()));
  for (int n = 0; n < 4000; ++n) {
    void* const object = heap->allocate(nullptr, id);
    REQUIRE(object != nullptr);
    memset(object, 1, 4096);
  }
  CHECK(*kept == 4711);
}

TEST_CASE("a heap that gets no address space at all says so, and leaves none behind") {
  const auto ending = end_of_child([] {
    const size_t now = process_bytes("VmSize");
    limit_to(RLIMIT_AS, now, size_t{200} << 10);
    StartedHeap heap(whole());
    if (heap.started || heap->classes().count() != 0) return 1;
    return process_bytes("VmSize") <= now + (size_t{16} << 20) ? 0 : 2;
  });
  CHECK(ending.status == 0);
}
