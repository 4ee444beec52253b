// SPDX-License-Identifier: MIT
#include "sizeclass/heap/heap.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/model/heap_driver.h"
#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/unit/started_heap.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

using Bytes = std::vector<uint8_t>;

// Empty: nothing was wrong.
std::string obey(HeapDriver& driver, const Bytes& program) {
  try {
    driver.run(program.data(), program.size());
  } catch (const BrokenInvariant& broken) {
    return broken.what();
  }
  return {};
}

// Returns how many requests were refused.
uint64_t run_all(const HeapConfig& config, unsigned fixed_seeds, size_t bytes) {
  uint64_t refusals = 0;
  for (const uint64_t seed : seeds(fixed_seeds)) {
    CAPTURE(seed);
    Random random(seed);
    Bytes program(bytes);
    for (uint8_t& byte : program) byte = random.byte();
    const auto driver = std::make_unique<HeapDriver>(config);
    const std::string wrong = obey(*driver, program);
    if (!wrong.empty()) {
      const Bytes few = shrink(program, [&](const Bytes& candidate) {
        return !obey(*std::make_unique<HeapDriver>(config), candidate).empty();
      });
      FAIL(wrong << ", shrunk to " << listed(few));
    }
    CHECK(driver->allocs() > bytes / 8);
    refusals += driver->refusals();
  }
  return refusals;
}

}  // namespace

TEST_CASE("a heap of default classes and few units obeys any list of instructions") {
  CHECK(run_all(tiny(), 20, 4000) > 0);
}

TEST_CASE("a heap of few classes obeys any list of instructions, beyond exhaustion") {
  static constexpr size_t kSizes[] = {64, 592, 1536};
  HeapConfig config = tiny(size_t{1} << 20);
  config.sizes = kSizes;
  config.sizes_count = 3;
  CHECK(run_all(config, 20, 4000) > 0);
}

TEST_CASE("a heap of one class obeys any list of instructions") {
  static constexpr size_t kSizes[] = {128};
  HeapConfig config = tiny();
  config.sizes = kSizes;
  config.sizes_count = 1;
  run_all(config, 20, 3000);
}

TEST_CASE("a heap of many units obeys any list of instructions") { run_all(roomy(), 6, 4000); }

TEST_CASE("no instructions leave nothing") {
  const auto driver = std::make_unique<HeapDriver>(tiny());
  REQUIRE_NOTHROW(driver->run(nullptr, 0));
}
