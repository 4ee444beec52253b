// SPDX-License-Identifier: MIT
// The engine when the system refuses memory: the k-th call of a verb of memory.h, and all from the
// k-th on, for every k up to the end of a scenario. A request may then fail, but no object is lost
// or handed out twice, all numbers agree, and once the system grants again everything can be had.
//
// The linker leads the engine's calls through the __wrap_ functions below (tests/tests.mk).
#include "sizeclass/heap.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/model/random.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

enum Verb { kReserve, kCommit, kPopulate, kPurge, kDecommit, kAnyVerb };

struct Refusals {
  Verb verb = kAnyVerb;
  uint64_t first = 0, last = 0;  // calls, counted from 1; 0: none
  uint64_t calls = 0, refused = 0;

  bool refuse(Verb now) {
    if (verb != kAnyVerb && verb != now) return false;
    ++calls;
    const bool yes = calls >= first && calls <= last;
    refused += yes;
    return yes;
  }
};
Refusals refusals;

}  // namespace

extern "C" {
void* __real__ZN9pktmalloc6memory7reserveEmm(size_t bytes, size_t alignment);
bool __real__ZN9pktmalloc6memory6commitEPvm(void* start, size_t bytes);
bool __real__ZN9pktmalloc6memory8populateEPvm(void* start, size_t bytes);
bool __real__ZN9pktmalloc6memory5purgeEPvm(void* start, size_t bytes);
bool __real__ZN9pktmalloc6memory8decommitEPvm(void* start, size_t bytes);
bool __real__ZN9pktmalloc6memory8withdrawEPvm(void* start, size_t bytes);

void* __wrap__ZN9pktmalloc6memory7reserveEmm(size_t bytes, size_t alignment) {
  if (refusals.refuse(kReserve)) return nullptr;
  return __real__ZN9pktmalloc6memory7reserveEmm(bytes, alignment);
}
bool __wrap__ZN9pktmalloc6memory6commitEPvm(void* start, size_t bytes) {
  return !refusals.refuse(kCommit) && __real__ZN9pktmalloc6memory6commitEPvm(start, bytes);
}
bool __wrap__ZN9pktmalloc6memory8populateEPvm(void* start, size_t bytes) {
  return !refusals.refuse(kPopulate) && __real__ZN9pktmalloc6memory8populateEPvm(start, bytes);
}
bool __wrap__ZN9pktmalloc6memory5purgeEPvm(void* start, size_t bytes) {
  return !refusals.refuse(kPurge) && __real__ZN9pktmalloc6memory5purgeEPvm(start, bytes);
}
bool __wrap__ZN9pktmalloc6memory8decommitEPvm(void* start, size_t bytes) {
  return !refusals.refuse(kDecommit) && __real__ZN9pktmalloc6memory8decommitEPvm(start, bytes);
}
bool __wrap__ZN9pktmalloc6memory8withdrawEPvm(void* start, size_t bytes) {
  return !refusals.refuse(kDecommit) && __real__ZN9pktmalloc6memory8withdrawEPvm(start, bytes);
}
}

namespace {

class Scenario {
 public:
  explicit Scenario(const HeapConfig& config) : heap_(config) {}

  void run() {
    if (!heap_.started) {
      CHECK(refusals.refused > 0);
      CHECK(heap_->classes().count() == 0);
      CHECK(heap_->attach() == nullptr);
      CHECK(heap_->trim(nullptr) == 0);
      return;
    }
    live_.resize(classes());
    allocs_.resize(classes());
    for (int round = 0; round < 3; ++round) {
      for (Cache*& cache : caches_) cache = attach();
      for (Cache* cache : caches_) grow(cache, 8);
      grow(nullptr, 16);
      check();
      shrink(round == 1 ? 2 : 32);  // nearly to nothing, or with holes everywhere
      check();
      for (int tick = 0; tick < 12; ++tick) heap_->age();
      check();
      grow(caches_[0], 16);
      if (round == 1) heap_->decommit(caches_[0]);
      if (round == 2) heap_->trim(caches_[0]);
      check();
      for (Cache* cache : caches_) detach(cache);
    }
    check();
    give_all_back();
    expect_everything_can_be_had();
  }

 private:
  struct Live {
    uint64_t* object;
    uint64_t serial;
  };

  unsigned classes() { return heap_->classes().count(); }

  Cache* attach() {
    Cache* cache = heap_->attach();
    CHECK((cache != nullptr || refusals.refused > 0));
    return cache;
  }
  void detach(Cache* cache) {
    if (cache != nullptr) heap_->detach(cache);
  }

  // A `part`th of all objects that each class can have.
  void grow(Cache* cache, uint64_t part) {
    for (unsigned i = 0; i < classes(); ++i) {
      for (uint64_t n = capacity(heap_.heap, ClassId(i)) / part; n > 0; --n) {
        auto* object = static_cast<uint64_t*>(heap_->allocate(cache, ClassId(i)));
        if (object == nullptr) {
          if (refusals.refused == 0 && !used_up(ClassId(i))) ++failures_;
          break;
        }
        ++allocs_[i];
        *object = ++serial_;
        live_[i].push_back({object, serial_});
      }
    }
  }

  // No object is left but what is live or in magazines.
  bool used_up(ClassId id) {
    const ClassStatistics c = heap_.of(id);
    return c.live + c.cached_threads + c.cached_depot == capacity(heap_.heap, id);
  }

  // Down to a `part`th, through any cache.
  void shrink(size_t part) {
    for (unsigned i = 0; i < classes(); ++i) {
      for (size_t n = live_[i].size() - live_[i].size() / part; n > 0; --n) {
        release(caches_[random_.below(kCaches)], ClassId(i), random_.below(live_[i].size()));
      }
    }
  }

  void release(Cache* cache, ClassId id, size_t which) {
    std::vector<Live>& live = live_[index(id)];
    if (*live[which].object != live[which].serial) ++overwritten_;
    heap_->release(cache, id, live[which].object);
    live[which] = live.back();
    live.pop_back();
  }

  void check() {
    const HeapStatistics s = heap_.statistics();
    uint64_t committed = 0;
    for (unsigned i = 0; i < classes(); ++i) {
      const ClassStatistics& c = s.of[i];
      const SizeClass& shape = heap_->classes()[ClassId(i)];
      CAPTURE(c.object_bytes);
      CHECK(c.allocs == allocs_[i]);
      CHECK(c.live == live_[i].size());
      CHECK(c.committed_bytes == c.active_bytes + c.free_bytes);
      const uint64_t objects = c.live + c.cached_threads + c.cached_depot + c.cached_slabs;
      CHECK(objects % shape.objects_per_slab == 0);
      CHECK(objects / shape.objects_per_slab << shape.slab_shift <= c.committed_bytes);
      committed += c.committed_bytes;
    }
    CHECK(heap_->resident_bytes() <= committed);
    CHECK(failures_ == 0);
    CHECK(overwritten_ == 0);
  }

  void give_all_back() {
    for (unsigned i = 0; i < classes(); ++i) {
      while (!live_[i].empty()) release(nullptr, ClassId(i), live_[i].size() - 1);
    }
    refusals.last = 0;
    heap_->trim(nullptr);
    check();
    CHECK(heap_->resident_bytes() == 0);
    CHECK(heap_.statistics().waiting_bytes == 0);
  }

  void expect_everything_can_be_had() {
    Cache* cache = attach();
    REQUIRE(cache != nullptr);
    for (unsigned i = 0; i < classes(); ++i) {
      const ClassId id{static_cast<uint8_t>(i)};
      uint64_t had = 0;
      while (heap_->allocate(cache, id) != nullptr) ++had;
      CHECK(had == capacity(heap_.heap, id));
    }
  }

  static constexpr unsigned kCaches = 3;
  StartedHeap heap_;
  Cache* caches_[kCaches]{};
  std::vector<std::vector<Live>> live_;  // by class
  std::vector<uint64_t> allocs_;
  Random random_{1};
  uint64_t serial_ = 0, overwritten_ = 0;
  uint64_t failures_ = 0;  // without a reason
};

HeapConfig small() {
  static constexpr size_t kSizes[] = {64, 592, 1536, 20480};
  HeapConfig config = tiny(20);
  config.least_area_shift = 19;  // a start that is refused may try once more
  config.sizes = kSizes;
  config.sizes_count = 4;
  return config;
}

// Returns the faults injected. `span`: how many calls in a row are refused.
uint64_t refuse_every_call(Verb verb, uint64_t span) {
  uint64_t injected = 0;
  for (uint64_t k = 1;; ++k) {
    CAPTURE(k);
    refusals = {verb, k, k > ~uint64_t{0} - span ? ~uint64_t{0} : k + span - 1, 0, 0};
    std::make_unique<Scenario>(small())->run();
    injected += refusals.refused;
    const bool over = refusals.refused == 0;
    refusals = {};
    if (over) return injected;
  }
}

void refuse(const char* name, Verb verb) {
  for (const uint64_t span : {uint64_t{1}, uint64_t{5}, uint64_t{1} << 60}) {
    const uint64_t injected = refuse_every_call(verb, span);
    printf("%s: %llu faults injected\n", name, static_cast<unsigned long long>(injected));
    CHECK(injected > 0);
  }
}

}  // namespace

TEST_CASE("the scenario uses every verb and is refused nothing by itself") {
  refusals = {};
  std::make_unique<Scenario>(small())->run();
  CHECK(refusals.calls > 30);
}

TEST_CASE("a refused reservation starts a smaller heap or none") { refuse("reserve", kReserve); }

TEST_CASE("a refused commit loses nothing") { refuse("commit", kCommit); }

TEST_CASE("memory in advance that is refused keeps nothing") {
  for (const Verb verb : {kPopulate, kCommit}) {
    for (uint64_t k = 1;; ++k) {
      CAPTURE(verb, k);
      const auto heap = std::make_unique<StartedHeap>(small());
      refusals = {verb, k, ~uint64_t{0}, 0, 0};
      const bool done = (*heap)->populate(ClassId{1}, 500);
      const bool refused = refusals.refused > 0;
      refusals = {};
      CHECK(done != refused);
      CHECK((heap->of(ClassId{1}).populated_bytes >= 500 * 592) == done);
      if (!refused) break;
      (*heap)->trim(nullptr);
      CHECK((*heap)->resident_bytes() == 0);
      CHECK(heap->of(ClassId{1}).populated_bytes == 0);
    }
  }
}

TEST_CASE("a refused purge loses nothing, and what was not given back is not counted so") {
  refuse("purge", kPurge);
}

TEST_CASE(
    "what the system refuses to take does not wait, is not tried again, and a trim tries all") {
  refusals = {};
  StartedHeap heap(small());
  Cache* cache = heap->attach();
  std::vector<void*> objects(1000);
  for (void*& object : objects) object = heap->allocate(cache, ClassId(1));
  for (void* object : objects) heap->release(cache, ClassId(1), object);
  heap->detach(cache);
  refusals = {kPurge, 1, ~uint64_t{0}, 0, 0};
  for (int tick = 0; tick < 12; ++tick) heap->age();
  CHECK(heap->age() == 0);
  CHECK(heap.statistics().waiting_bytes == 0);
  CHECK(heap.of(ClassId(1)).purged_bytes == 0);
  CHECK(heap.of(ClassId(1)).free_bytes == heap.of(ClassId(1)).committed_bytes);
  const uint64_t calls = refusals.calls;
  for (int tick = 0; tick < 12; ++tick) heap->age();
  CHECK(refusals.calls == calls);
  CHECK(heap->trim(nullptr) == 0);
  CHECK(refusals.calls > calls);
  refusals = {};
  CHECK(heap->trim(nullptr) > 592 * 1000);
  CHECK(heap->resident_bytes() == 0);
}

TEST_CASE("a refused decommit loses nothing") { refuse("decommit", kDecommit); }

TEST_CASE("refusals of all kinds together lose nothing") { refuse("any", kAnyVerb); }
