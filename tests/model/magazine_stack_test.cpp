// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine_stack.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/window.h"
#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

const char* run(Random& random) {
  MagazineRack rack(1 + random.below(60), random.below(kMagazineSizes));
  MagazineStack stack;
  std::vector<Magazine*> model, outside;
  for (unsigned n = 0; n < rack.count(); ++n) outside.push_back(rack[n]);
  Window window;
  const uint32_t lean = 2 + random.below(7);  // of ten steps, so many push
  const auto pops_as_foretold = [&](bool needed = true) {
    Magazine* const magazine = needed ? stack.pop() : stack.pop_unneeded();
    if (model.empty()) return magazine == nullptr;
    if (magazine != model.back()) return false;
    outside.push_back(model.back());
    model.pop_back();
    if (needed) {
      window.record(static_cast<uint32_t>(model.size()));
    } else {
      window.remove(1);
    }
    return true;
  };
  for (int step = 0; step < 3000 && !random.over(); ++step) {
    if (random.one_in(40)) {
      const uint32_t unneeded = stack.tick();
      if (unneeded != window.tick(static_cast<uint32_t>(model.size()))) return "tick";
      for (uint32_t left = random.below(unneeded + 1); left > 0; --left) {
        if (!pops_as_foretold(false)) return "pop of what nobody needed";
      }
    } else if (random.one_in(100)) {
      stack.freeze();
      stack.thaw();
    } else if (random.below(10) < lean && !outside.empty()) {
      std::swap(outside[random.below(outside.size())], outside.back());
      stack.push(outside.back());
      model.push_back(outside.back());
      outside.pop_back();
    } else if (!pops_as_foretold()) {
      return "pop";
    }
    if (stack.depth() != model.size()) return "depth";
  }
  while (!model.empty()) {
    if (!pops_as_foretold()) return "pop at the end";
  }
  return stack.pop() == nullptr ? nullptr : "one too many";
}

}  // namespace

TEST_CASE("a magazine stack does as a vector does, and its low water as a list of lows") {
  CHECK(first_failure(50, run) == "");
}
