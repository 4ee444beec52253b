// SPDX-License-Identifier: MIT
// A heap that gave back the addresses it does not use.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr ClassId kId{5};
const size_t kPage = memory::page_bytes();  // of a slab, too: tiny()

// Somebody else's page at that address; nullptr if the system does not give it.
void* take_page(void* at) {
  void* const p = mmap(at, kPage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

char* slab_of(void* object, uintptr_t further) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(object) / kPage * kPage;
  return reinterpret_cast<char*>(start + further * kPage);
}

bool is_ours(StartedHeap& heap, const void* p) { return Heap::is_class(heap->owner(p)); }

std::vector<uint64_t*> take(StartedHeap& heap, Cache* cache, size_t most = ~size_t{0}) {
  std::vector<uint64_t*> objects;
  while (objects.size() < most) {
    void* const p = heap->allocate(cache, kId);
    if (p == nullptr) break;
    objects.push_back(static_cast<uint64_t*>(p));
    *objects.back() = objects.size();
  }
  return objects;
}

}  // namespace

TEST_CASE("addresses that were given back can be somebody else's, and are had again otherwise") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* cache = heap->attach();
  auto* live = static_cast<uint64_t*>(heap->allocate(cache, kId));
  *live = 1;
  CHECK(heap->quick_owner(live) == index(kId));
  CHECK(is_ours(heap, slab_of(live, 100)));
  CHECK(take_page(slab_of(live, 100)) == nullptr);

  heap->give_back_addresses(Heap::kFewAddresses);
  CHECK(*live == 1);
  CHECK(heap->owner(live) == index(kId));
  CHECK_FALSE(Heap::is_class(heap->quick_owner(live)));
  CHECK(heap.statistics().reserved_bytes < 2 << 20);
  void* const page = take_page(slab_of(live, 100));
  REQUIRE(page != nullptr);
  CHECK_FALSE(is_ours(heap, page));

  // Up to that page.
  const std::vector<uint64_t*> objects = take(heap, cache);
  const uint32_t in_slab = heap->classes()[kId].objects_per_slab;
  CHECK(objects.size() + 1 == 100 * in_slab);
  uint64_t wrong = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    wrong += *objects[i] != i + 1 || heap->owner(objects[i]) != index(kId);
  }
  CHECK(wrong == 0);
  munmap(page, kPage);
  CHECK(take(heap, cache).size() > 50 * in_slab);
  // Never a second time: what lies in between is not the heap's.
  void* const other = take_page(slab_of(live, 0) - kPage);
  heap->give_back_addresses(Heap::kFewAddresses);
  if (other != nullptr) *static_cast<char*>(other) = 1;
  CHECK(*live == 1);
}

TEST_CASE("slabs that are purged after addresses were given back are nobody's") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* cache = heap->attach();
  heap->give_back_addresses(Heap::kFewAddresses);
  const size_t count = capacity(heap.heap, kId) / 3;
  const std::vector<uint64_t*> objects = take(heap, cache, count);
  REQUIRE(objects.size() == count);
  for (uint64_t* object : objects) heap->release(cache, kId, object);
  CHECK(heap->trim(cache) > 0);
  CHECK(heap->resident_bytes() == 0);
  CHECK_FALSE(is_ours(heap, objects.front()));
  void* const page = take_page(slab_of(objects[0], 0));
  REQUIRE(page != nullptr);
  heap->decommit(cache);
  *static_cast<char*>(page) = 1;
  CHECK(take(heap, cache, count).size() == count);
}

TEST_CASE("what somebody else maps over a purged slab keeps no other from being opened again") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* cache = heap->attach();
  heap->give_back_addresses(Heap::kFewAddresses);
  const std::vector<uint64_t*> objects = take(heap, cache);
  const uint32_t in_slab = heap->classes()[kId].objects_per_slab;
  REQUIRE(objects.size() > 100 * in_slab);
  for (uint64_t* object : objects) heap->release(cache, kId, object);
  CHECK(heap->trim(cache) > 0);
  // More than the heap tries for one request.
  std::vector<char*> pages;
  for (int slab = 0; slab < 20; ++slab) {
    pages.push_back(static_cast<char*>(take_page(slab_of(objects[0], slab))));
    REQUIRE(pages.back() != nullptr);
    *pages.back() = 1;
  }
  size_t got = 0;
  for (int request = 0; request < 10 && got == 0; ++request) got += take(heap, cache).size();
  CHECK(got + 21 * in_slab > objects.size());
  for (char* page : pages) {
    CHECK(*page == 1);
    munmap(page, kPage);
  }
  got += take(heap, cache).size();
  CHECK(got + in_slab > objects.size());
}

TEST_CASE("where addresses are few no more slabs are opened, but those there were are used again") {
  StartedHeap heap(of_few_classes(tiny()));
  Cache* cache = heap->attach();
  const size_t before = take(heap, cache, 1000).size();
  heap->give_back_addresses(Heap::kFewAddresses - 1);
  const std::vector<uint64_t*> rest = take(heap, cache);
  CHECK(rest.size() < before);  // of magazines, and of one slab
  for (uint64_t* object : rest) heap->release(cache, kId, object);
  CHECK(take(heap, cache).size() == rest.size());
  heap->give_back_addresses(Heap::kFewAddresses);
  CHECK(take(heap, cache).size() > before);
}
