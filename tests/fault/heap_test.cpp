// SPDX-License-Identifier: MIT
// The engine when the system refuses memory: the k-th call of a verb of memory.h, and all from the
// k-th on, for every k up to the end of a scenario. A request may then fail, but no object is lost
// or handed out twice, all numbers agree, and once the system grants again everything can be had.
//
// The linker leads the engine's calls through the __wrap_ functions below (tests/tests.mk).
#include "sizeclass/heap/heap.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/model/random.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

enum Verb { kFindRoom, kMap, kCommit, kPopulate, kPurge, kWithdraw, kRelease, kAnyVerb };

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

void (*while_mapping)() = nullptr;

unsigned huge_pages = 0;  // that the system still has, in this test's eyes

}  // namespace

extern "C" {
uintptr_t __real__ZN9pktmalloc6memory9find_roomEmmmm(size_t bytes, size_t alignment, size_t mapped,
                                                     size_t also);
uintptr_t __wrap__ZN9pktmalloc6memory9find_roomEmmmm(size_t bytes, size_t alignment, size_t mapped,
                                                     size_t also) {
  if (refusals.refuse(kFindRoom)) return 0;
  return __real__ZN9pktmalloc6memory9find_roomEmmmm(bytes, alignment, mapped, also);
}

bool __real__ZN9pktmalloc6memory3mapEPvm(void* start, size_t bytes);
bool __wrap__ZN9pktmalloc6memory3mapEPvm(void* start, size_t bytes) {
  if (while_mapping != nullptr) while_mapping();
  return !refusals.refuse(kMap) && __real__ZN9pktmalloc6memory3mapEPvm(start, bytes);
}

#define MAY_REFUSE(name, verb)                                    \
  bool __real_##name(void* start, size_t bytes);                  \
  bool __wrap_##name(void* start, size_t bytes) {                 \
    return !refusals.refuse(verb) && __real_##name(start, bytes); \
  }
MAY_REFUSE(_ZN9pktmalloc6memory6commitEPvm, kCommit)
MAY_REFUSE(_ZN9pktmalloc6memory8populateEPvm, kPopulate)
MAY_REFUSE(_ZN9pktmalloc6memory5purgeEPvm, kPurge)
MAY_REFUSE(_ZN9pktmalloc6memory7releaseEPvm, kRelease)
#undef MAY_REFUSE

bool __real__ZN9pktmalloc6memory8withdrawEPvmb(void* start, size_t bytes, bool readable);
bool __wrap__ZN9pktmalloc6memory8withdrawEPvmb(void* start, size_t bytes, bool readable) {
  return !refusals.refuse(kWithdraw) &&
         __real__ZN9pktmalloc6memory8withdrawEPvmb(start, bytes, readable);
}

// Small pages stay where they are.
bool __wrap__ZN9pktmalloc6memory14take_from_poolEPvm(void*, size_t) {
  return huge_pages > 0 && huge_pages-- > 0;
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
    live_.resize(kMaxClasses);
    allocs_.resize(kMaxClasses);
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
      if (round < 2) heap_->decommit(caches_[0]);
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

  ClassIds ids() { return heap_->classes().ids(); }

  Cache* attach() {
    Cache* cache = heap_->attach();
    CHECK((cache != nullptr || refusals.refused > 0));
    return cache;
  }
  void detach(Cache* cache) {
    if (cache != nullptr) heap_->detach(cache);
  }

  // A `part`th of all units, in equal parts for each class.
  void grow(Cache* cache, uint64_t part) {
    for (const ClassId id : ids()) {
      for (uint64_t n = heap_.capacity(id) / part / heap_->classes().count(); n > 0; --n) {
        auto* object = static_cast<uint64_t*>(heap_->allocate(cache, id));
        if (object == nullptr) {
          if (refusals.refused == 0 && !used_up(id)) ++failures_;
          break;
        }
        ++allocs_[index(id)];
        *object = ++serial_;
        live_[index(id)].push_back({object, serial_});
      }
    }
  }

  // No object is left but what is live or in magazines, and no units are.
  bool used_up(ClassId id) {
    return heap_.of(id).cached_slabs == 0 && !has_units_for(heap_.heap, id, heap_.units);
  }

  // Down to a `part`th, through any cache; of the first class, which has the lowest units, straight
  // to nothing: so there are purged units below others.
  void shrink(size_t part) {
    for (const ClassId id : ids()) {
      const std::vector<Live>& live = live_[index(id)];
      const size_t stay = index(id) == 1 ? 0 : live.size() / part;
      for (size_t n = live.size() - stay; n > 0; --n) {
        Cache* const any = caches_[random_.below(kCaches)];
        release(index(id) == 1 ? nullptr : any, id, random_.below(live.size()));
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
    for (const ClassId id : ids()) {
      const ClassStatistics& c = s.of[index(id) - 1];
      const SizeClass& shape = heap_->classes()[id];
      CAPTURE(c.object_bytes);
      CHECK(c.allocs == allocs_[index(id)]);
      CHECK(c.live == live_[index(id)].size());
      CHECK(c.committed_bytes == c.active_bytes + c.free_bytes);
      const uint64_t objects = c.live + c.cached_threads + c.cached_depot + c.cached_slabs;
      CHECK(objects % shape.objects_per_slab == 0);
      const uint64_t slab_bytes = uint64_t{shape.units} << SlabPool::kUnitShift;
      CHECK(objects / shape.objects_per_slab * slab_bytes == c.active_bytes);
      committed += c.committed_bytes;
    }
    CHECK(heap_->resident_bytes() <= committed);
    CHECK(failures_ == 0);
    CHECK(overwritten_ == 0);
  }

  void give_all_back() {
    for (const ClassId id : ids()) {
      while (!live_[index(id)].empty()) release(nullptr, id, live_[index(id)].size() - 1);
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
    for (const ClassId id : ids()) {
      std::vector<void*> had;
      while (void* const object = heap_->allocate(cache, id)) {
        memset(object, 1, heap_->classes()[id].object_bytes);
        had.push_back(object);
      }
      CHECK(had.size() == heap_.capacity(id));
      for (void* object : had) heap_->release(cache, id, object);
      heap_->trim(cache);
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
  HeapConfig config = tiny(size_t{4} << 20);
  config.sizes = kSizes;
  config.sizes_count = 4;
  config.state_bytes = sizeof(uint16_t);
  return config;
}

// Under the address sanitizer each scenario takes long: after the first call every fourth one, and
// not the same ones for each span.
#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kStride = 4;
#else
constexpr uint64_t kStride = 1;
#endif

// Returns the faults injected. `span`: how many calls in a row are refused.
uint64_t refuse_every_call(Verb verb, uint64_t span) {
  uint64_t injected = 0;
  for (uint64_t k = 1;; k += k == 1 ? 1 + span / 2 % kStride : kStride) {
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

TEST_CASE("without a place for it there is no heap") { refuse("find_room", kFindRoom); }

TEST_CASE("where there is no place for a large heap, a smaller one starts") {
  refusals = {kFindRoom, 1, 3, 0, 0};
  StartedHeap heap(roomy());
  refusals = {};
  REQUIRE(heap.started);
  CHECK(heap->allocate(nullptr, ClassId{1}) != nullptr);
}

TEST_CASE("a mapping that is refused loses nothing") { refuse("map", kMap); }

TEST_CASE("a refused commit loses nothing") { refuse("commit", kCommit); }

TEST_CASE("a refused unmapping loses nothing") { refuse("release", kRelease); }

TEST_CASE("withdrawn memory that the system then refuses to unmap can be had again") {
  refusals = {};
  StartedHeap heap(small());
  const auto id = ClassId{4};
  std::vector<void*> objects;
  while (void* const object = heap->allocate(nullptr, id)) objects.push_back(object);
  std::sort(objects.begin(), objects.end());
  const auto release_from = [&](size_t first, size_t end) {
    for (size_t n = first; n < end; ++n) heap->release(nullptr, id, objects[n]);
  };
  const size_t all = objects.size(), slab = heap->classes()[id].objects_per_slab;
  release_from(all - 5 * slab, all - slab);
  heap->decommit(nullptr);
  release_from(all - slab, all);
  refusals = {kRelease, 1, ~uint64_t{0}, 0, 0};
  heap->decommit(nullptr);
  CHECK(refusals.refused > 0);
  refusals = {};
  for (size_t n = 0; n < 5 * slab; ++n) {
    void* const object = heap->allocate(nullptr, id);
    REQUIRE(object != nullptr);
    memset(object, 1, 20480);
  }
}

TEST_CASE("another thread can read the state of each object while states get their memory") {
  refusals = {};
  static Heap* seen;
  static uint64_t looks, marked;
  looks = marked = 0;
  StartedHeap heap(small());
  seen = &heap.heap;
  while_mapping = [] {
    ++looks;
    seen->each_object([](ClassId id, uintptr_t p) {
      marked += seen->state_of(id, reinterpret_cast<void*>(p)).is(ObjectStates::kLive);
    });
  };
  huge_pages = 1;
  heap->populate(ClassId{2}, 1000, true);
  huge_pages = 0;
  while (void* const object = heap->allocate(nullptr, ClassId{1})) {
    heap->state_of(ClassId{1}, object).set(ObjectStates::kLive);
  }
  while_mapping = nullptr;
  CHECK(looks > 3);
  CHECK(marked > 0);
}

TEST_CASE("a block whose memory or words are refused is none, and its units serve the next one") {
  struct Word {
    uint64_t head, rest;
  };
  constexpr size_t kBytes = 300000;
  uint64_t none = 0;
  for (uint64_t k = 1;; ++k) {
    CAPTURE(k);
    refusals = {kMap, k, k + 1, 0, 0};
    HeapConfig config = small();
    config.state_bytes = sizeof(Word);
    StartedHeap heap(config);
    REQUIRE(heap.started);
    void* block = heap->allocate_block(nullptr, kBytes);
    const bool over = refusals.refused == 0;
    refusals = {};
    none += block == nullptr;
    CHECK(heap.statistics().blocks.live == (block != nullptr ? 1 : 0));
    if (block == nullptr) block = heap->allocate_block(nullptr, kBytes);
    REQUIRE(block != nullptr);
    Word& word = heap->state_word<Word>(kNoClass, block);
    CHECK(word.head == 0);
    word.head = 1;
    CHECK(heap.statistics().blocks.live == 1);
    heap->release_block(nullptr, block);
    CHECK(heap.statistics().blocks.live == 0);
    heap->trim(nullptr);
    CHECK(heap->resident_bytes() == 0);
    if (over) break;
  }
  CHECK(none > 1);
}

TEST_CASE("memory in advance that is refused keeps nothing") {
  for (const Verb verb : {kPopulate, kMap}) {
    for (uint64_t k = 1;; ++k) {
      CAPTURE(verb, k);
      const auto heap = std::make_unique<StartedHeap>(small());
      refusals = {verb, k, ~uint64_t{0}, 0, 0};
      const bool done = (*heap)->populate(ClassId{2}, 500);
      const bool refused = refusals.refused > 0;
      refusals = {};
      CHECK(done != refused);
      CHECK((heap->of(ClassId{2}).populated_bytes >= 500 * 592) == done);
      if (!refused) break;
      (*heap)->trim(nullptr);
      CHECK((*heap)->resident_bytes() == 0);
      CHECK(heap->of(ClassId{2}).populated_bytes == 0);
    }
  }
}

TEST_CASE(
    "the system's huge pages hold as many objects as fit, and what lies before serves others") {
  refusals = {};
  const ClassId id{2}, other{1};
  for (const unsigned pages : {0U, 1U, 3U, 10U}) {
    CAPTURE(pages);
    huge_pages = pages;
    HeapConfig config = small();
    config.most_bytes = size_t{16} << 20;
    config.limit = config.most_bytes;
    StartedHeap heap(config);
    if (memory::huge_page_bytes() > config.most_bytes / 8) return;
    heap->allocate(nullptr, other);
    constexpr uint64_t kWanted = 12'000;  // 6.8 MiB
    const uint64_t got = heap->populate(id, kWanted, true);
    const uint64_t page = memory::huge_page_bytes();
    const uint64_t fit = std::min<uint64_t>(pages, kWanted * 592 / page) * page / 592;
    CHECK(got >= fit * 9 / 10);
    CHECK(got <= std::min(kWanted, fit + 2 * heap->classes()[id].objects_per_slab));
    const ClassStatistics populated = heap.of(id);
    CHECK(populated.populated_bytes >= got * 592);
    CHECK(populated.free_bytes == populated.populated_bytes);
    CHECK(heap->limit().used() == heap->open_bytes());
    std::vector<void*> objects;
    while (void* const object = heap->allocate(nullptr, other)) objects.push_back(object);
    // The magazines of what lies on huge pages count, too.
    CHECK((heap->is_at_limit(other, 1) || !has_units_for(heap.heap, other, heap.units)));
    for (uint64_t n = 0; n < got; ++n) {
      void* const object = heap->allocate(nullptr, id);
      REQUIRE(object != nullptr);
      memset(object, 1, 592);
    }
    for (void* object : objects) heap->release(nullptr, other, object);
    heap->trim(nullptr);
    CHECK(heap.of(id).live == got);
    CHECK(heap.of(id).populated_bytes == populated.populated_bytes);
  }
  huge_pages = 0;
}

TEST_CASE("a refused purge loses nothing, and what was not given back is not counted so") {
  refuse("purge", kPurge);
}

TEST_CASE(
    "what is refused to be taken does not wait, much is not tried again, and a trim tries all") {
  refusals = {};
  StartedHeap heap(small());
  Cache* cache = heap->attach();
  std::vector<void*> objects(4000);
  for (void*& object : objects) object = heap->allocate(cache, ClassId(2));
  for (void* object : objects) heap->release(cache, ClassId(2), object);
  heap->detach(cache);
  refusals = {kPurge, 1, ~uint64_t{0}, 0, 0};
  for (int tick = 0; tick < 12; ++tick) heap->age();
  CHECK(heap->age() == 0);
  CHECK(heap.statistics().waiting_bytes == 0);
  CHECK(heap.of(ClassId(2)).purged_bytes == 0);
  CHECK(heap.of(ClassId(2)).free_bytes == heap.of(ClassId(2)).committed_bytes);
  const uint64_t calls = refusals.calls;
  for (int tick = 0; tick < 12; ++tick) heap->age();
  CHECK(refusals.calls == calls + 12);  // by the pool that is refused less than a MiB, each tick
  CHECK(heap->trim(nullptr) == 0);
  CHECK(refusals.calls > calls);
  refusals = {};
  CHECK(heap->trim(nullptr) > 592 * 4000);
  CHECK(heap->resident_bytes() == 0);
}

TEST_CASE("a trim gives empty units back, whatever part of a slab the system refuses") {
  uint64_t calls = 0;
  for (const bool refused : {false, true}) {
    refusals = {kPurge, refused ? calls : 0, calls, 0, 0};
    StartedHeap heap(small());
    std::vector<void*> objects(1000);
    for (void*& object : objects) {
      object = heap->allocate(nullptr, ClassId(2));
      memset(object, 1, 592);
    }
    for (size_t i = 1; i < objects.size(); ++i) heap->release(nullptr, ClassId(2), objects[i]);
    heap->trim(nullptr);
    CHECK(refusals.refused == refused);
    CHECK(heap->resident_bytes() <= heap.of(ClassId(2)).active_bytes);
    calls = refusals.calls;
    heap->release(nullptr, ClassId(2), objects[0]);
  }
  refusals = {};
}

TEST_CASE("a refused withdrawal loses nothing") { refuse("withdraw", kWithdraw); }

TEST_CASE("refusals of all kinds together lose nothing") { refuse("any", kAnyVerb); }
