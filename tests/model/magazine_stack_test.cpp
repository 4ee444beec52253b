// SPDX-License-Identifier: MIT
#include "sizeclass/magazine_stack.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/window.h"
#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("a magazine stack does as a vector does, and its low water as a list of lows") {
  for (const uint64_t seed : seeds(50)) {
    CAPTURE(seed);
    Random random(seed);
    MagazineRack rack(1 + random.below(60), random.below(kMagazineSizes));
    MagazineStack stack;
    stack.start(rack.base());
    std::vector<Magazine*> model, outside;
    for (unsigned n = 0; n < rack.count(); ++n) outside.push_back(rack[n]);
    Window window;
    const uint32_t lean = 2 + random.below(7);  // of ten steps, so many push
    unsigned wrong = 0;
    const auto pop = [&] {
      Magazine* const magazine = stack.pop();
      if (model.empty()) {
        wrong += magazine != nullptr;
        return;
      }
      wrong += magazine != model.back();
      outside.push_back(model.back());
      model.pop_back();
      window.record(static_cast<uint32_t>(model.size()));
    };
    for (int step = 0; step < 3000 && wrong == 0; ++step) {
      if (random.one_in(40)) {
        const uint32_t unneeded = stack.tick();
        wrong += unneeded != window.tick(static_cast<uint32_t>(model.size()));
        for (uint32_t n = 0; n < unneeded; ++n) pop();
      } else if (random.one_in(100)) {
        stack.freeze();
        stack.thaw();
      } else if (random.below(10) < lean && !outside.empty()) {
        std::swap(outside[random.below(outside.size())], outside.back());
        stack.push(outside.back());
        model.push_back(outside.back());
        outside.pop_back();
      } else {
        pop();
      }
      wrong += stack.depth() != model.size();
      CAPTURE(step);
      if (wrong != 0) CHECK(wrong == 0);
    }
    CHECK(wrong == 0);
    while (!model.empty()) pop();
    CHECK(stack.pop() == nullptr);
    CHECK(wrong == 0);
  }
}
