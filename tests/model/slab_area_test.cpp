// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_area.h"

#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/slab_area_model.h"
#include "tests/unit/lone_area.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

// Areas of several classes on one pool.
class Run {
 public:
  Run(Random& random, uint32_t units, const std::vector<size_t>& sizes)
      : random_(random),
        pool_(units),
        pool_model_(units, static_cast<uint32_t>((size_t{256} << 10) / pool_.unit_bytes())) {
    for (const size_t bytes : sizes) {
      const unsigned id = static_cast<unsigned>(areas_.size() + 1);
      const LoneArea& area = areas_.emplace_back(bytes, pool_, ClassId(id));
      models_.emplace_back(pool_model_, id, area.shape(), pool_.unit_bytes());
    }
    live_.resize(sizes.size());
  }

  // nullptr: nothing was wrong.
  const char* step() {
    const uint32_t n = random_.below(areas_.size());
    const uint32_t per_slab = areas_[n].per_slab();
    const uint32_t capacity = pool_model_.size() / areas_[n].shape().units * per_slab;
    switch (random_.below(11)) {
      case 0:
        if (pool_->tick() != pool_model_.tick()) return "tick";
        if (random_.one_in(5)) {
          pool_->decommit();
          pool_model_.decommit();
        }
        break;
      case 1: {
        const uint32_t most = random_.mostly_small(pool_model_.size() + 2);
        if (pool_->purge_some(most) != pool_model_.purge_some(most)) return "purge";
        break;
      }
      case 2:
        for (uint32_t more = random_.below(4); more > 0; --more) {
          if (areas_[n]->thin_one() != models_[n].thin_one()) return "thin";
        }
        break;
      case 3:
      case 4:
      case 5:
      case 6: {
        const uint32_t most = random_.one_in(20) ? capacity + 5 : 2 * per_slab;
        if (const char* what = fill(n, random_.mostly_small(most))) return what;
        break;
      }
      default: {
        const uint32_t most = random_.one_in(10) ? capacity : 2 * per_slab;
        if (const char* what = drain(n, random_.mostly_small(most))) return what;
      }
    }
    return compare();
  }

 private:
  struct Live {
    uint32_t slab, object;
    uint64_t serial;
  };

  uintptr_t address(uint32_t n, uint32_t slab, uint32_t object) const {
    return reinterpret_cast<uintptr_t>(pool_.at(slab)) +
           uintptr_t{object} * areas_[n].shape().object_bytes;
  }

  const char* fill(uint32_t n, uint32_t want) {
    const auto expected = models_[n].fill(want);
    const std::vector<uintptr_t> got = areas_[n].fill(want);
    if (got.size() != expected.size()) return "fill: how many";
    for (size_t i = 0; i < got.size(); ++i) {
      const auto& [slab, object] = expected[i];
      if (got[i] != address(n, slab, object)) return "fill: which";
      if (areas_[n]->object_at(got[i] + 7) != got[i]) return "the object at an address";
      live_[n].push_back({slab, object, ++serial_});
      *reinterpret_cast<uint64_t*>(got[i]) = serial_;
    }
    return nullptr;
  }

  const char* drain(uint32_t n, uint32_t count) {
    std::vector<uintptr_t> objects;
    std::vector<Live>& live = live_[n];
    // Now and then neighbours, so that whole slabs become free.
    const bool newest = random_.one_in(3);
    while (objects.size() < count && !live.empty()) {
      if (!newest) std::swap(live[random_.below(live.size())], live.back());
      const Live& last = live.back();
      objects.push_back(address(n, last.slab, last.object));
      if (*reinterpret_cast<uint64_t*>(objects.back()) != last.serial)
        return "content of an object";
      models_[n].drain(last.slab, last.object);
      live.pop_back();
    }
    areas_[n].drain(objects);
    return nullptr;
  }

  const char* compare() {
    for (size_t n = 0; n < areas_.size(); ++n) {
      const AreaStatistics s = areas_[n]->statistics();
      if (s.filled != models_[n].filled) return "filled";
      if (s.drained != models_[n].drained) return "drained";
      if (s.free_objects != models_[n].free_objects()) return "free objects";
      if (s.slabs != models_[n].slabs()) return "slabs";
      if (s.empty_slabs != 0) return "empty slabs";
      if (s.filled - s.drained != live_[n].size()) return "live";
    }
    if (pool_->empty_units() != pool_model_.empty()) return "empty units";
    if (pool_.open_units() != pool_model_.open()) return "open units";
    return nullptr;
  }

  Random& random_;
  LonePool pool_;
  SlabPoolModel pool_model_;
  std::deque<LoneArea> areas_;
  std::vector<SlabAreaModel> models_;
  std::vector<std::vector<Live>> live_;  // by class
  uint64_t serial_ = 0;
};

}  // namespace

TEST_CASE("slab areas hand out and take back exactly what the model foretells") {
  const std::vector<size_t> shapes[] = {
      {16}, {64, 592}, {1024, 4096, 20480}, {9216, 65536, 81920}, {16, 512, 6144, 40960}};
  for (const auto& sizes : shapes) {
    CAPTURE(sizes);
    const auto run = [&](Random& random) {
      Run areas(random, 40, sizes);
      const char* wrong = nullptr;
      for (int step = 0; step < 800 && wrong == nullptr && !random.over(); ++step) {
        wrong = areas.step();
      }
      return wrong;
    };
    CHECK(first_failure(10, run) == "");
  }
}
