// SPDX-License-Identifier: MIT
#include "sizeclass/object_states.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

HeapConfig with_states(HeapConfig config) {
  config.states = true;
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
  for (unsigned i = 0; i < heap->classes().count(); ++i) {
    const ClassId id{static_cast<uint8_t>(i)};
    const size_t bytes = heap->classes()[id].object_bytes;
    const std::vector<char*> objects = take(heap, cache, id, 40);
    REQUIRE(objects.size() == 40);
    for (char* p : objects) {
      REQUIRE(heap->has_state(p));
      CHECK(heap->state_of(id, p).state() == ObjectStates::kNone);
      heap->state_of(id, p).set(ObjectStates::kLive);
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

TEST_CASE("states open piece by piece, and addresses without are known") {
  HeapConfig config = with_states(of_few_classes(tiny()));
  config.piece_shift = page_shift() + 4;  // a piece has a page of states
  StartedHeap heap(config);
  REQUIRE(heap.started);
  Cache* cache = heap->attach();
  constexpr ClassId kId{5}, kOther{6};
  const std::vector<char*> first = take(heap, cache, kId, 1);
  CHECK(heap->has_state(first[0]));
  CHECK_FALSE(heap->has_state(first[0] + (uintptr_t{1} << config.piece_shift)));  // the next class
  CHECK_FALSE(heap->has_state(first[0] +
                              (uintptr_t{kMaxClasses} << config.piece_shift)));  // the next piece
  CHECK_FALSE(
      heap->has_state(first[0] + (uintptr_t{kMaxClasses - 6} << config.piece_shift)));  // no class
  const std::vector<char*> all = take(heap, cache, kId, ~size_t{0});
  CHECK(all.size() + 1 == capacity(heap.heap, kId));
  CHECK(std::all_of(all.begin(), all.end(), [&](char* p) { return heap->has_state(p); }));
  const std::vector<char*> others = take(heap, cache, kOther, 10);
  CHECK(heap->has_state(others[0]));
  heap->detach(cache);
}

TEST_CASE("states survive when addresses are given back, and new ones are had") {
  HeapConfig config = with_states(of_few_classes(tiny()));
  config.piece_shift = page_shift() + 4;  // a piece has a page of states
  StartedHeap heap(config);
  Cache* cache = heap->attach();
  constexpr ClassId kId{5}, kOther{6};
  const std::vector<char*> before = take(heap, cache, kId, 300);
  for (char* p : before) heap->state_of(kId, p).set(ObjectStates::kLive);
  heap->give_back_addresses(Heap::kFewAddresses);
  const std::vector<char*> more = take(heap, cache, kId, 300);
  const std::vector<char*> others = take(heap, cache, kOther, 10);
  CHECK(others.size() == 10);
  for (char* p : before) CHECK(heap->state_of(kId, p).state() == ObjectStates::kLive);
  for (char* p : more) CHECK(heap->state_of(kId, p).state() == ObjectStates::kNone);
  for (char* p : others) {
    heap->state_of(kOther, p).set(ObjectStates::kLive);
    CHECK(heap->state_of(kOther, p).state() == ObjectStates::kLive);
  }
  heap->detach(cache);
}

TEST_CASE("a shuffled heap hands out each object once, in no order") {
  const auto drawn = [](uint64_t seed) {
    HeapConfig config = of_few_classes(tiny());
    config.shuffle_seed = seed;
    StartedHeap heap(config);
    Cache* cache = heap->attach();
    std::vector<char*> objects = take(heap, cache, ClassId{5}, ~size_t{0});
    CHECK(std::set<char*>(objects.begin(), objects.end()).size() == objects.size());
    CHECK(objects.size() == capacity(heap.heap, ClassId{5}));
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
