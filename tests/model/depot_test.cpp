// SPDX-License-Identifier: MIT
// The depot, with its sharded stacks and allowances, against vectors and plain counts.
#include "sizeclass/depot.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/window.h"
#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr unsigned kClasses = 3;
constexpr unsigned kShards = ShardedStack::kShards;

// What a class's part of the depot must do.
class Model {
 public:
  Magazine* take(unsigned home) {
    unsigned& last = shards_[home].last_distance;
    if (Magazine* const magazine = take_from(home)) return magazine;
    if (Magazine* const magazine = take_from(home ^ last)) return magazine;
    for (unsigned n = 1; n < kShards; ++n) {
      const unsigned other = home ^ n;  // neighbours first
      if (Magazine* const magazine = take_from(other)) {
        last = n;
        return magazine;
      }
    }
    return nullptr;
  }
  void give(Magazine* magazine, unsigned home) { shards_[home].waiting.push_back(magazine); }
  uint32_t depth() const {
    uint32_t sum = 0;
    for (const Shard& shard : shards_) sum += level(shard);
    return sum;
  }
  uint32_t tick() {
    uint32_t idle = 0;
    for (Shard& shard : shards_) idle += shard.idle = shard.window.tick(level(shard));
    return idle;
  }
  uint32_t make_idle() {
    for (Shard& shard : shards_) {
      shard.idle = level(shard);
      shard.window.forget(level(shard));
    }
    return depth();
  }
  Magazine* take_idle() {
    for (Shard& shard : shards_) {
      shard.idle = std::min(shard.idle, shard.window.lowest());
      if (shard.idle == 0) continue;
      --shard.idle;
      shard.window.remove(1);
      return pop(shard);
    }
    return nullptr;
  }
  // 48 KiB of them are free, 22 of the largest or 128 of the smallest; each further one needs a
  // refusal and, later, a refill.
  bool grants(bool smallest) {
    if (depth() < (smallest ? 128U : 22U)) return true;
    if (earned_ == 0) {
      ++refused_;
      return false;
    }
    --earned_;
    return true;
  }
  void refill() {
    if (refused_ == 0) return;
    --refused_;
    ++earned_;
  }

 private:
  struct Shard {
    std::vector<Magazine*> waiting;
    Window window;
    uint32_t idle = 0;
    unsigned last_distance = 0;
  };
  static Magazine* pop(Shard& shard) {
    Magazine* const newest = shard.waiting.back();
    shard.waiting.pop_back();
    return newest;
  }
  Magazine* take_from(unsigned home) {
    Shard& shard = shards_[home];
    if (shard.waiting.empty()) return nullptr;
    Magazine* const newest = pop(shard);
    shard.window.record(level(shard));
    return newest;
  }
  static uint32_t level(const Shard& shard) { return static_cast<uint32_t>(shard.waiting.size()); }

  std::array<Shard, kShards> shards_;
  unsigned refused_ = 0, earned_ = 0;
};

const char* run(Random& random) {
  MagazineRack rack(1 + random.below(60));
  const auto depot = std::make_unique<Depot>();
  std::array<Model, kClasses> models;
  std::vector<Magazine*> outside;
  for (unsigned n = 0; n < rack.count(); ++n) outside.push_back(rack[n]);
  const uint32_t lean = 2 + random.below(7);  // of ten steps, so many give
  for (unsigned step = 0; step < 3000 && !random.over(); ++step) {
    const unsigned number = random.one_in(4) ? random.below(kClasses) : 0;
    const ClassId id{static_cast<uint8_t>(number)};
    Model& model = models[number];
    const unsigned home = random.below(kShards);
    if (random.one_in(30)) {
      const bool all = random.one_in(8);
      const uint32_t idle = all ? depot->make_idle(id) : depot->tick(id);
      if (idle != (all ? model.make_idle() : model.tick())) return "tick";
    } else if (random.one_in(6)) {
      Magazine* const magazine = depot->take_idle(id);
      if (magazine != model.take_idle()) return "take of what nobody needed";
      if (magazine != nullptr) outside.push_back(magazine);
    } else if (random.one_in(50)) {
      depot->freeze();
      depot->thaw();
    } else if (random.one_in(6)) {
      const bool smallest = random.one_in(2);
      if (depot->grants_magazine(id, smallest ? 16 : 256) != model.grants(smallest))
        return "grants a magazine";
    } else if (random.one_in(10)) {
      depot->note_refill(id);
      model.refill();
    } else if (random.below(10) < lean && !outside.empty()) {
      std::swap(outside[random.below(outside.size())], outside.back());
      depot->give(id, outside.back(), home);
      model.give(outside.back(), home);
      outside.pop_back();
    } else {
      Magazine* const magazine = depot->take(id, home);
      if (magazine != model.take(home)) return "take";
      if (magazine != nullptr) outside.push_back(magazine);
    }
    for (unsigned n = 0; n < kClasses; ++n) {
      if (depot->depth(ClassId(n)) != models[n].depth()) return "depth";
    }
  }
  for (unsigned n = 0; n < kClasses; ++n) {
    while (Magazine* magazine = depot->take(ClassId(n))) outside.push_back(magazine);
  }
  return outside.size() == rack.count() ? nullptr : "magazines lost";
}

}  // namespace

TEST_CASE("the depot takes, gives, ages and grants as its model does") {
  CHECK(first_failure(60, run) == "");
}
