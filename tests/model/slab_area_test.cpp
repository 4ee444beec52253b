// SPDX-License-Identifier: MIT
#include "sizeclass/slab_area.h"

#include <catch2/catch.hpp>
#include <unordered_map>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/slab_area_model.h"
#include "tests/unit/lone_area.h"
#include "tests/unit/page_shift.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

class Run {
 public:
  struct Shape {
    size_t object_bytes, piece_bytes;
    uint32_t pieces = 1;
    size_t colour = 0;
  };
  Run(Random& random, const Shape& shape)
      : random_(random),
        area_(shape.object_bytes, shape.piece_bytes, shape.pieces, shape.colour, page_shift()),
        model_(area_.slabs(), area_.per_slab(), area_.slabs_in_piece()) {}

  // Empty: nothing was wrong.
  const char* step() {
    switch (random_.below(10)) {
      case 0:
        if (area_->tick() != model_.tick()) return "tick";
        break;
      case 1: {
        const uint32_t most = random_.mostly_small(area_.slabs() + 2);
        if (area_->purge_some(most) != model_.purge_some(most)) return "purge";
        break;
      }
      case 2:
      case 3:
      case 4:
      case 5: {
        const uint32_t most = random_.one_in(20) ? area_.capacity() + 5 : 2 * area_.per_slab();
        if (const char* what = fill(random_.mostly_small(most))) return what;
        break;
      }
      default: {
        const uint32_t most = random_.one_in(10) ? area_.capacity() : 2 * area_.per_slab();
        if (const char* what = drain(random_.mostly_small(most))) return what;
      }
    }
    return compare();
  }

 private:
  const char* fill(uint32_t want) {
    const auto expected = model_.fill(want);
    const std::vector<uintptr_t> got = area_.fill(want);
    if (got.size() != expected.size()) return "fill: how many";
    for (size_t n = 0; n < got.size(); ++n) {
      if (got[n] != area_.object(expected[n].first, expected[n].second)) return "fill: which";
      live_.push_back({expected[n].first, expected[n].second, ++serial_});
      *reinterpret_cast<uint64_t*>(got[n]) = serial_;
    }
    return nullptr;
  }

  const char* drain(uint32_t count) {
    std::vector<uintptr_t> objects;
    // Now and then neighbours, so that whole slabs become free.
    const bool newest = random_.one_in(3);
    while (objects.size() < count && !live_.empty()) {
      if (!newest) std::swap(live_[random_.below(live_.size())], live_.back());
      const Live& last = live_.back();
      objects.push_back(area_.object(last.slab, last.object));
      if (*reinterpret_cast<uint64_t*>(objects.back()) != last.serial)
        return "content of an object";
      model_.drain(last.slab, last.object);
      live_.pop_back();
    }
    area_.drain(objects);
    return nullptr;
  }

  const char* compare() {
    const AreaStatistics s = area_->statistics();
    if (s.filled != model_.filled) return "filled";
    if (s.drained != model_.drained) return "drained";
    if (s.free_objects != model_.free_objects()) return "free objects";
    if (s.used_slabs != model_.used_slabs()) return "used slabs";
    if (s.empty_slabs != model_.empty_slabs()) return "empty slabs";
    if (area_->empty_slabs() != model_.empty_slabs()) return "empty slabs without the lock";
    if (s.purged_slabs != model_.purged_slabs()) return "purged slabs";
    if (s.committed_bytes < s.used_slabs * area_->slab_bytes()) return "committed bytes";
    if (s.filled - s.drained != live_.size()) return "live";
    return nullptr;
  }

  struct Live {
    uint32_t slab, object;
    uint64_t serial;
  };
  Random& random_;
  LoneArea area_;
  SlabAreaModel model_;
  std::vector<Live> live_;
  uint64_t serial_ = 0;
};

}  // namespace

TEST_CASE("a slab area hands out, takes back and purges exactly what the model foretells") {
  const size_t page = memory::page_bytes();
  const Run::Shape shapes[] = {{16, 16 * page},         {64, 100 * page},
                               {592, 120 * page},       {1024, 130 * page},
                               {4096, 800 * page},      {9216, 256 * page},
                               {64, 4 * page, 9, page}, {592, 64 * page, 5, 3 * page},
                               {1024, 16 * page, 20, 0}};
  for (const auto& shape : shapes) {
    CAPTURE(shape.object_bytes, shape.pieces);
    const auto run = [&](Random& random) {
      Run area(random, shape);
      const char* wrong = nullptr;
      for (int step = 0; step < 1500 && wrong == nullptr && !random.over(); ++step) {
        wrong = area.step();
      }
      return wrong;
    };
    CHECK(first_failure(10, run) == "");
  }
}
