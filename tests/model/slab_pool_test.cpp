// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_pool.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/slab_pool_model.h"
#include "tests/unit/lone_pool.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr unsigned kClasses = 9;  // class n has slabs of n units

class Run {
 public:
  Run(Random& random, uint32_t units, uint32_t limit, bool zeroes)
      : random_(random),
        pool_(units, HugePages::kAuto, zeroes),
        model_(units, static_cast<uint32_t>((size_t{256} << 10) / pool_.unit_bytes()), limit),
        limited_(limit != SlabPoolModel::kNone),
        zeroes_(zeroes) {
    if (limited_) pool_.limit.set(limit * pool_.unit_bytes(), MemoryLimit::kNone);
  }

  // nullptr: nothing was wrong.
  const char* step() {
    if (random_.one_in(100)) gives_ = random_.below(7);
    if (random_.one_in(12)) {
      if (pool_->tick() != model_.tick()) return "tick";
    } else if (random_.one_in(6)) {
      const uint32_t most = random_.mostly_small(model_.size() + 2);
      if (pool_->purge_some(most) != model_.purge_some(most)) return "purge";
    } else if (random_.one_in(30)) {
      pool_->decommit();
      model_.decommit();
    } else {
      for (uint32_t n = random_.mostly_small(8); n > 0; --n) {
        if (const char* what = random_.below(7) < gives_ ? give() : take()) return what;
      }
    }
    return compare();
  }

 private:
  struct Slab {
    uint32_t first, units;
    uint64_t serial;
  };

  const char* take() {
    const uint32_t units = 1 + random_.below(kClasses);
    const uint32_t expected = model_.take(units, units);
    const SlabPool::Taken taken = pool_->take(ClassId(units), units);
    if (expected == SlabPoolModel::kNone) {
      return taken.unit == SlabPool::kNone ? nullptr : "taken although there is none";
    }
    if (taken.unit != expected + 1) return "taken: which";
    if (taken.clean != (model_.clean || zeroes_)) return "clean";
    const char* const begin = pool_.at(expected);
    const size_t bytes = units * pool_.unit_bytes();
    if (taken.clean && (*begin != 0 || memcmp(begin, begin + 1, bytes - 1) != 0)) return "not zero";
    slabs_.push_back({expected, units, ++serial_});
    each_mark(slabs_.back(), [&](uint64_t& mark) { mark = serial_; });
    return nullptr;
  }

  const char* give() {
    if (slabs_.empty()) return nullptr;
    std::swap(slabs_[random_.below(slabs_.size())], slabs_.back());
    const Slab slab = slabs_.back();
    slabs_.pop_back();
    bool intact = true;
    each_mark(slab, [&](uint64_t& mark) { intact &= mark == slab.serial; });
    if (!intact) return "content of a slab";
    pool_.give(ClassId(slab.units), slab.first, slab.units);
    model_.give(slab.first, slab.units);
    return nullptr;
  }

  // At the beginning and the end of each unit.
  template <typename Do>
  void each_mark(const Slab& slab, Do what) {
    for (uint32_t n = 0; n < slab.units; ++n) {
      what(*reinterpret_cast<uint64_t*>(pool_.at(slab.first + n)));
      what(*reinterpret_cast<uint64_t*>(pool_.at(slab.first + n + 1) - sizeof(uint64_t)));
    }
  }

  const char* compare() {
    for (uint32_t n = 0; n < model_.size(); ++n) {
      const SlabPoolModel::Unit& unit = model_[n];
      const bool mapped = pool_->bytes() > (n + 1) * pool_.unit_bytes();
      const SlabPool::Entry entry = mapped ? pool_->entry(n + 1) : SlabPool::Entry{};
      const bool owned = unit.state == SlabPoolModel::kOwned;
      if (entry.owner != (owned ? unit.owner : 0)) return "owner";
      if (owned && entry.back != unit.back) return "back";
      const auto address = reinterpret_cast<uintptr_t>(pool_.at(n)) + n % pool_.unit_bytes();
      const uint32_t slab = pool_->slab_of(ClassId(1 + n % kClasses), address);
      const bool its = owned && unit.owner == 1 + n % kClasses;
      if (slab != (its ? n + 1 - unit.back : SlabPool::kNone)) return "slab of an address";
    }
    if (pool_->empty_units() != model_.empty()) return "empty units";
    if (pool_.open_units() != model_.open()) return "open units";
    if (pool_.used_units() != model_.used()) return "used units";
    const SlabPool::Counts& counts = pool_->counts();
    if (counts.taken != model_.taken * pool_.unit_bytes()) return "taken bytes";
    if (counts.purged != model_.purged * pool_.unit_bytes()) return "purged bytes";
    if (counts.mapped < counts.used + counts.bookkeeping) return "mapped bytes";
    if (limited_ && pool_.limit.used() != counts.open) return "limited bytes";
    uint64_t purged = 0;
    for (unsigned n = 1; n <= kClasses; ++n) {
      const PoolShare& share = pool_->share(ClassId(n));
      if (share.empty_bytes != model_.empty_of(n) * pool_.unit_bytes()) return "share of empty";
      purged += share.purged_total_bytes;
    }
    return purged == counts.purged ? nullptr : "shares of purged";
  }

  Random& random_;
  LonePool pool_;
  SlabPoolModel model_;
  std::vector<Slab> slabs_;
  const bool limited_, zeroes_;
  uint32_t gives_ = 3;  // of seven steps
  uint64_t serial_ = 0;
};

}  // namespace

TEST_CASE("a pool takes, gives, purges and decommits exactly as the model foretells") {
  constexpr uint32_t kNone = SlabPoolModel::kNone;
  struct Shape {
    uint32_t units, limit;
    bool zeroes;
  };
  for (const Shape& shape : {Shape{40, kNone, false}, Shape{200, kNone, false},
                             Shape{200, 120, false}, Shape{150, kNone, true}}) {
    CAPTURE(shape.units, shape.limit, shape.zeroes);
    const auto run = [&](Random& random) {
      Run pool(random, shape.units, shape.limit, shape.zeroes);
      const char* wrong = nullptr;
      for (int step = 0; step < 2000 && wrong == nullptr && !random.over(); ++step) {
        wrong = pool.step();
      }
      return wrong;
    };
    CHECK(first_failure(10, run) == "");
  }
}
