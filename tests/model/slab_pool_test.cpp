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

constexpr unsigned kClasses = 9;  // class n has slabs of n units; class 0 is a block

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
        const char* const what = random_.one_in(8)           ? resize()
                                 : random_.below(7) < gives_ ? give()
                                                             : take();
        if (what != nullptr) return what;
      }
    }
    return compare();
  }

 private:
  struct Slab {
    unsigned owner;
    uint32_t first, units;
    uint64_t serial;
  };

  const char* take() {
    const unsigned owner = random_.below(kClasses + 1);
    const uint32_t units = owner != 0 ? owner : 1 + random_.mostly_small(model_.size());
    const uint32_t expected = model_.take(owner, units);
    const SlabPool::Taken taken = pool_->take(ClassId(owner), units);
    if (expected == SlabPoolModel::kNone) {
      return taken.unit == SlabPool::kNone ? nullptr : "taken although there is none";
    }
    if (taken.unit != expected + 1) return "taken: which";
    if (taken.clean != (model_.clean || (zeroes_ && owner != 0))) return "clean";
    const char* const begin = pool_.at(expected);
    const size_t bytes = units * pool_.unit_bytes();
    if (taken.clean && (*begin != 0 || memcmp(begin, begin + 1, bytes - 1) != 0)) return "not zero";
    slabs_.push_back({owner, expected, units, ++serial_});
    set_marks(slabs_.back());
    return nullptr;
  }

  // Of one of those in use, which becomes the last one.
  const char* choose() {
    std::swap(slabs_[random_.below(slabs_.size())], slabs_.back());
    const Slab& slab = slabs_.back();
    bool intact = true;
    each_mark(slab, [&](uint64_t& mark) { intact &= mark == slab.serial; });
    const uint32_t block_units = pool_->block_at(address(slab));
    if (block_units != (slab.owner == 0 ? slab.units : 0)) return "units of a block";
    const uintptr_t inside = address(slab) + random_.below(slab.units * pool_.unit_bytes());
    if (pool_->block_of(inside) != (slab.owner == 0 ? address(slab) : 0)) return "a block inside";
    return intact ? nullptr : "content of a slab";
  }

  const char* give() {
    if (slabs_.empty()) return nullptr;
    if (const char* what = choose()) return what;
    const Slab slab = slabs_.back();
    slabs_.pop_back();
    model_.give(slab.first, slab.units);
    if (slab.owner != 0) return pool_.give(ClassId(slab.owner), slab.first, slab.units), nullptr;
    if (pool_->resize_block(address(slab), 0) != slab.units ||
        pool_->block_at(address(slab), SlabPool::kBlockBegan) != slab.units) {
      return "a block";
    }
    return pool_->resize_block(address(slab), 0) != 0 ? "a block twice" : nullptr;
  }

  const char* resize() {
    if (slabs_.empty()) return nullptr;
    if (const char* what = choose()) return what;
    Slab& slab = slabs_.back();
    if (slab.owner != 0) return nullptr;
    const uint32_t units = 1 + random_.mostly_small(2 * slab.units + 8);
    const bool expected = model_.resize(slab.first, slab.units, units);
    if (pool_->resize_block(address(slab), units) != (expected ? slab.units : 0)) return "resized";
    if (expected) slab.units = units;
    set_marks(slab);
    return nullptr;
  }

  uintptr_t address(const Slab& slab) const {
    return reinterpret_cast<uintptr_t>(pool_.at(slab.first));
  }
  void set_marks(const Slab& slab) {
    each_mark(slab, [&](uint64_t& mark) { mark = slab.serial; });
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
      const uint32_t mark = unit.back == 0 ? SlabPool::kBlockBegins : SlabPool::kBlockGoesOn;
      if (owned && entry.back != (unit.owner != 0 ? unit.back : mark)) return "back";
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
    for (unsigned n = 0; n <= kClasses; ++n) {
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
