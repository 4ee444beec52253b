// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/object_states.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

HeapConfig with_states(HeapConfig config) {
  config.state_bytes = sizeof(uint16_t);
  return config;
}

std::vector<char*> take(StartedHeap& heap, Cache* cache, ClassId id, size_t count) {
  std::vector<char*> objects;
  while (objects.size() < count) {
    void* const p = heap->allocate(cache, id);
    if (p == nullptr) break;
    objects.push_back(static_cast<char*>(p));
  }
  return objects;
}

}  // namespace

TEST_CASE("each object of each class has a state of its own, and no other address has it") {
  StartedHeap heap(with_states(roomy()));
  REQUIRE(heap.started);
  Cache* cache = heap->attach();
  for (const ClassId id : heap->classes().ids()) {
    const size_t bytes = heap->classes()[id].object_bytes;
    const std::vector<char*> objects = take(heap, cache, id, 40);
    REQUIRE(objects.size() == 40);
    for (char* p : objects) {
      CHECK(heap->state_of(id, p).state() == ObjectStates::kNone);
      heap->state_of(id, p).set(ObjectStates::kLive);
      CHECK(heap->state_of(kNoClass, p).state() == ObjectStates::kNone);
    }
    heap->state_of(id, objects[7]).set(ObjectStates::kFreed);
    for (char* p : objects) {
      CHECK(heap->state_of(id, p).state() ==
            (p == objects[7] ? ObjectStates::kFreed : ObjectStates::kLive));
      for (size_t inside = 16; inside < bytes; inside += 16) {
        if (heap->state_of(id, p + inside).state() != ObjectStates::kNone) FAIL(bytes << inside);
      }
    }
  }
  heap->detach(cache);
}

TEST_CASE("any address in a slab has a word that can be read") {
  struct Word {
    char bytes[131072];
  };
  HeapConfig config = roomy();
  config.state_bytes = sizeof(Word);
  StartedHeap heap(config);
  REQUIRE(heap.started);
  Cache* cache = heap->attach();
  for (const ClassId id : heap->classes().ids()) {
    if (heap->classes()[id].object_bytes < 131072) continue;  // their words are too many
    for (char* p : take(heap, cache, id, 80)) {
      const auto last = reinterpret_cast<uintptr_t>(p) + heap->classes()[id].object_bytes - 1;
      const auto* const behind = reinterpret_cast<const void*>(last | 0xFFFF);  // of its unit
      CHECK(heap->state_word<Word>(id, behind).bytes[0] == 0);
    }
  }
  heap->detach(cache);
}

TEST_CASE("words are opened with slabs") {
  StartedHeap heap(with_states(of_few_classes(roomy())));
  constexpr ClassId kId{5};
  const uint64_t before = heap.statistics().metadata_bytes;
  const std::vector<char*> objects = take(heap, nullptr, kId, 100'000);
  const uint64_t opened = heap.statistics().metadata_bytes - before;
  const size_t bytes = heap->classes()[kId].object_bytes * objects.size();
  CHECK(opened >= 2 * objects.size());
  CHECK(opened <= bytes / 8);
  for (char* p : objects) heap->state_of(kId, p).set(ObjectStates::kLive);
}

TEST_CASE("nothing is left of the states that a slab's former class had") {
  StartedHeap heap(with_states(roomy()));
  for (const size_t bytes : {16, 48, 1536, 9216, 262144, 32}) {
    CAPTURE(bytes);
    const ClassId id = heap->classes().find(bytes);
    const std::vector<char*> objects = take(heap, nullptr, id, 600);
    size_t wrong = 0;
    for (char* p : objects) {
      for (size_t inside = 0; inside < bytes; inside += 16) {
        wrong += heap->state_of(id, p + inside).state() != ObjectStates::kNone;
      }
      heap->state_of(id, p).set(ObjectStates::kFreed);
    }
    CHECK(wrong == 0);
    for (char* p : objects) heap->release(nullptr, id, p);
  }
}

TEST_CASE("states go back with the memory of the objects, and their neighbours' stay") {
  struct Word {
    Owned<uint16_t> state;
    char more[14];
  };
  HeapConfig config = roomy();
  config.state_bytes = sizeof(Word);
  StartedHeap heap(config);
  const auto state_of = [&](ClassId id, char* p) {
    return ObjectStates::Entry(heap->state_word<Word>(id, p).state, reinterpret_cast<uintptr_t>(p));
  };
  std::vector<std::pair<ClassId, char*>> kept;
  std::vector<std::pair<ClassId, char*>> gone;
  for (const size_t bytes : {16, 48, 1536, 9216, 163840, 262144, 32}) {
    const ClassId id = heap->classes().find(bytes);
    const std::vector<char*> objects = take(heap, nullptr, id, bytes < 1000 ? 50'000 : 60);
    for (size_t n = 0; n < objects.size(); ++n) {
      state_of(id, objects[n]).set(ObjectStates::kLive);
      const bool stays = n % (objects.size() / 4) == 0;
      (stays ? kept : gone).push_back({id, objects[n]});
    }
  }
  const uintptr_t words =
      reinterpret_cast<uintptr_t>(&heap->state_word<Word>(gone[0].first, gone[0].second));
  const uintptr_t page = words & -memory::page_bytes();
  const auto resident = [=] {
    return memory::resident_bytes(reinterpret_cast<void*>(page), size_t{512} << 10);
  };
  CHECK(resident() == size_t{512} << 10);
  for (const auto& [id, p] : gone) heap->release(nullptr, id, p);
  heap->trim(nullptr);
  CHECK(resident() < size_t{256} << 10);
  size_t wrong = 0;
  for (const auto& [id, p] : kept) wrong += !state_of(id, p).is(ObjectStates::kLive);
  CHECK(wrong == 0);
}

TEST_CASE("opening a slab leaves the states of its neighbours alone") {
  StartedHeap heap(with_states(roomy()));
  std::vector<ClassId> ids;
  std::vector<std::vector<char*>> live;
  for (const size_t bytes : {9216, 10240, 12288, 14336, 163840, 196608}) {
    ids.push_back(heap->classes().find(bytes));
    live.push_back(take(heap, nullptr, ids.back(), 40));
    for (char* p : live.back()) heap->state_of(ids.back(), p).set(ObjectStates::kLive);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (char* p : live[i]) {
      wrong += heap->state_of(ids[i], p).state() != ObjectStates::kLive;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a shuffled heap hands out each object once, in no order") {
  const auto drawn = [](uint64_t seed) {
    HeapConfig config = of_few_classes(tiny());
    config.shuffle_seed = seed;
    StartedHeap heap(config);
    Cache* cache = heap->attach();
    std::vector<char*> objects = take(heap, cache, ClassId{5}, ~size_t{0});
    CHECK(std::set<char*>(objects.begin(), objects.end()).size() == objects.size());
    CHECK(objects.size() == heap.capacity(ClassId{5}));
    char* const least = *std::min_element(objects.begin(), objects.end());
    std::vector<ptrdiff_t> offsets;
    for (char* p : objects) offsets.push_back(p - least);
    heap->detach(cache);
    return offsets;
  };
  const std::vector<ptrdiff_t> ordered = drawn(0), one = drawn(1), other = drawn(3);
  CHECK(one != ordered);
  CHECK(one != other);
  size_t neighbours = 0;
  for (size_t i = 1; i < one.size(); ++i) neighbours += one[i] - one[i - 1] == ordered[1];
  CHECK(neighbours < one.size() / 4);
}
