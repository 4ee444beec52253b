// SPDX-License-Identifier: MIT
#include "sizeclass/heap/cache.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/unit/idle.h"
#include "tests/unit/stock.h"
#include "tests/unit/waiting_magazines.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

// Several caches, driven by one thread, on one supply. Objects carry their address, so that one
// that is handed out twice or purged while live is seen.
class Run {
 public:
  Run(Random& random, Stock& stock, unsigned caches, bool magazines_run_out)
      : random_(random), stock_(stock), magazines_run_out_(magazines_run_out) {
    for (unsigned n = 0; n < caches; ++n) {
      caches_.push_back(std::make_unique<Cache>());
      caches_.back()->home = static_cast<uint8_t>(n / 2);
      if (n != 0) caches_.back()->saw(stock.due.word());  // else no trip of it is lean
    }
    allocated_.resize(stock.count() + 1);
    if (magazines_run_out) hide_magazines();
  }

  // Empty: nothing was wrong.
  const char* step() {
    const ClassId id{static_cast<uint8_t>(1 + random_.below(stock_.count()))};
    Cache& cache = *caches_[random_.below(caches_.size())];
    const uint32_t count =
        random_.mostly_small(random_.one_in(8) ? 3000 : 3 * stock_.shape(id).first_rounds);
    switch (random_.below(16)) {
      case 0:
        cache.flush(stock_.supply);
        break;
      case 1:
        cache.visits.tick += random_.below(3);
        cache.flush_idle(stock_.supply, random_.below(3), kNoClass);
        break;
      case 2:
        if (const char* what = age(id)) return what;
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        if (random_.one_in(2)) {
          if (const char* what = allocate_run(cache, id, count)) return what;
        }
        for (uint32_t n = 0; n < count; ++n) {
          if (const char* what = allocate(cache, id)) return what;
        }
        break;
      default:
        for (uint32_t n = 0; n < count && !live_.empty(); ++n) {
          if (const char* what = release(random_.one_in(4) ? any() : cache)) return what;
        }
    }
    return compare();
  }

  const char* end() {
    while (!live_.empty()) {
      if (const char* what = release(any())) return what;
    }
    for (auto& cache : caches_) cache->flush(stock_.supply);
    for (const ClassId id : stock_.ids()) {
      if (const char* what = age(id)) return what;
      make_idle(stock_.depot, id);
      while (Magazine* const magazine = stock_.depot.take_idle(id)) {
        if (magazine->rounds != 0) return "objects in an idle magazine";
        stock_.store.retire(magazine);
      }
      const AreaStatistics a = stock_.area(id).statistics();
      if (a.filled != a.drained) return "objects lost";
      if (a.slabs != 0) return "slabs lost";
    }
    if (stock_.objects.open_units() != 0) return "units lost";
    uint64_t magazines = 0;
    for (unsigned size = 0; size < kMagazineSizes; ++size) {
      make_idle(stock_.store.empties(size));
      while (stock_.store.drain_one(size)) {
      }
      const AreaStatistics a = stock_.store.area(size).statistics();
      magazines += a.filled - a.drained;
    }
    if (magazines != hidden_) return "magazines lost";
    return compare();
  }

  uint64_t refusals = 0;

 private:
  // Leaves four of each size.
  void hide_magazines() {
    std::vector<Magazine*> left;
    for (unsigned size = 0; size < kMagazineSizes; ++size) {
      for (int n = 0; n < 4; ++n) left.push_back(stock_.store.obtain(rounds_of_size(size)));
    }
    for (unsigned size = kMagazineSizes; size-- > 0;) {
      while (stock_.store.obtain(rounds_of_size(size)) != nullptr) ++hidden_;
    }
    for (Magazine* magazine : left) stock_.store.give_back(magazine);
  }

  Cache& any() { return *caches_[random_.below(caches_.size())]; }

  const char* allocate(Cache& cache, ClassId id) {
    void* object = stock_.allocate(cache, id);
    if (object == nullptr && exhausted(id)) {
      ++refusals;
      return nullptr;
    }
    if (object == nullptr) {
      // As the heap does it, when there is no memory for a magazine.
      if (!magazines_run_out_) return "refused although there are free objects";
      uintptr_t only = 0;
      if (stock_.area(id).fill(&only, 1) != 1) return "refused by the slabs as well";
      object = reinterpret_cast<void*>(only);
      ++refusals;
      --allocated_[index(id)];
    }
    return note(id, object);
  }

  const char* allocate_run(Cache& cache, ClassId id, size_t count) {
    std::vector<void*> objects(count);
    objects.resize(cache.allocate_run(id, objects.data(), count));
    for (void* object : objects) {
      if (const char* what = note(id, object)) return what;
    }
    return nullptr;
  }

  const char* note(ClassId id, void* object) {
    if (!stock_.is_object(id, object)) return "not an object";
    if (live_of_.count(object) != 0) return "handed out twice";
    live_of_[object] = live_.size();
    live_.push_back({object, id});
    *static_cast<void**>(object) = object;
    ++allocated_[index(id)];
    return nullptr;
  }

  const char* release(Cache& cache) {
    const size_t n = random_.one_in(3) ? live_.size() - 1 : random_.below(live_.size());
    const Live gone = live_[n];
    if (*static_cast<void**>(gone.object) != gone.object) return "content of an object";
    live_[n] = live_.back();
    live_of_[live_[n].object] = n;
    live_.pop_back();
    live_of_.erase(gone.object);
    // A run of one, or a single call.
    if (!random_.one_in(4) || cache.release_run(gone.id, &gone.object, 1, unit_shift()) == 0) {
      stock_.release(cache, gone.id, gone.object);
    }
    return nullptr;
  }

  // As ageing does it, without waiting.
  const char* age(ClassId id) {
    SlabArea area = stock_.area(id);
    while (Magazine* magazine = take_any(stock_.depot, id)) {
      if (magazine->rounds == 0) return "an empty magazine in the depot";
      if (magazine->rounds > magazine->capacity) return "rounds above the capacity";
      aged_[id] += magazine->rounds;
      area.drain(magazine->objects(), magazine->rounds);
      magazine->rounds = 0;
      if (random_.one_in(2)) {
        stock_.store.retire(magazine);
      } else {
        stock_.store.give_back(magazine);
      }
      ++aged_magazines_[id];
    }
    while (stock_.objects->purge_some(8) > 0) {
    }
    for (unsigned size = 0; size < kMagazineSizes; ++size) {
      make_idle(stock_.store.empties(size));
      while (random_.one_in(2) && stock_.store.drain_one(size)) {
      }
    }
    stock_.magazines->purge_some(random_.below(4));
    return nullptr;
  }

  // Everything that is free is held by magazines of threads, or lies in slabs of other classes.
  bool exhausted(ClassId id) {
    if (stock_.area(id).statistics().free_objects != 0) return false;
    if (depth(stock_.depot, id) != 0) return false;
    const uint32_t units = stock_.shape(id).units;
    const uint32_t unit = stock_.objects.take(id, units);
    if (unit != LonePool::kNone) stock_.objects.give(id, unit, units);
    return unit == LonePool::kNone;
  }

  const char* compare() {
    std::vector<uint64_t> live(stock_.count() + 1);
    for (const Live& one : live_) ++live[index(one.id)];
    for (const ClassId id : stock_.ids()) {
      const unsigned i = index(id);
      CacheStatistics sum{};
      for (const auto& cache : caches_) {
        const uint64_t before = sum.held;
        sum = cache->statistics(id, sum);
        if (sum.held - before > 2U * stock_.shape(id).largest_rounds) {
          return "a thread holds too much";
        }
      }
      const AreaStatistics a = stock_.area(static_cast<ClassId>(i)).statistics();
      const uint64_t in_depot = sum.given - sum.taken - aged_[id];
      if (sum.allocated != allocated_[i]) return "allocated";
      if (sum.gives - sum.takes - aged_magazines_[id] != depth(stock_.depot, id)) return "depot";
      if (a.filled - a.drained != live[i] + sum.held + in_depot) return "filled and drained";
      if (live[i] + sum.held + in_depot + a.free_objects !=
          a.slabs * stock_.shape(id).objects_per_slab) {
        return "objects in slabs";
      }
    }
    return nullptr;
  }

  struct Live {
    void* object;
    ClassId id;
  };
  Random& random_;
  Stock& stock_;
  const bool magazines_run_out_;
  uint64_t hidden_ = 0;  // magazines
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Live> live_;
  std::map<void*, size_t> live_of_;
  std::vector<uint64_t> allocated_;
  std::map<ClassId, uint64_t> aged_, aged_magazines_;
};

// Returns how many requests a cache refused.
uint64_t run_all(unsigned caches, std::initializer_list<size_t> sizes, uint32_t units,
                 uint32_t magazine_units = Stock::kUnits) {
  uint64_t refusals = 0;
  const auto run_one = [&](Random& random) {
    Stock stock(sizes, units, magazine_units);
    Run run(random, stock, caches, magazine_units < Stock::kUnits);
    const char* wrong = nullptr;
    for (int step = 0; step < 600 && wrong == nullptr && !random.over(); ++step) wrong = run.step();
    if (wrong == nullptr) wrong = run.end();
    refusals += run.refusals;
    return wrong;
  };
  CAPTURE(caches, units);
  CHECK(first_failure(20, run_one) == "");
  return refusals;
}

}  // namespace

TEST_CASE("caches on one supply hand out every object once and lose none") {
  CHECK(run_all(1, {64}, 511) == 0);
  run_all(4, {16, 592, 4096}, 200);
  run_all(3, {1024, 4096, 20480}, 2047);
}

TEST_CASE("caches on an exhausted supply refuse only what nobody has") {
  CHECK(run_all(3, {64, 1024}, 16) > 0);
}

TEST_CASE("caches whose magazines run out lose nothing") {
  CHECK(run_all(6, {64, 128, 256, 512}, 1023, 32) > 0);
}
