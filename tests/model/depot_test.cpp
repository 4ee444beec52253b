// SPDX-License-Identifier: MIT
// The depot, with its mail, sharded stacks and allowances, against vectors and plain counts.
#include "sizeclass/exchange/depot.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/shrink.h"
#include "tests/model/window.h"
#include "tests/unit/idle.h"
#include "tests/unit/magazine_rack.h"
#include "tests/unit/waiting_magazines.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr unsigned kClasses = 3;
constexpr unsigned kShards = ShardedStack::kShards;

// What a class's part of the depot must do.
class Model {
 public:
  Magazine* take(unsigned home, uint8_t& source, unsigned turn) {
    for (unsigned n = 0; n < kShards; ++n) {
      const unsigned other = home ^ n;  // neighbours first
      Magazine* magazine = take_from_mail(other, nullptr, turn);
      if (magazine == nullptr) magazine = take_from(other);
      if (magazine == nullptr) continue;
      source = static_cast<uint8_t>(other);
      return magazine;
    }
    return nullptr;
  }
  // A full one from the mail, where `empty` lies from then on.
  Magazine* take_from_mail(unsigned home, Magazine* empty, unsigned turn) {
    for (unsigned n = 1; n <= Mail::kWords; ++n) {
      Letter& letter = letter_of(home, turn - n);
      if (letter.magazine == nullptr || !letter.is_full) continue;
      Magazine* const magazine = letter.magazine;
      letter = {empty, false, 0};
      return magazine;
    }
    return nullptr;
  }
  Magazine* exchange(Magazine* full, uint32_t capacity, unsigned home, unsigned turn) {
    for (unsigned n = 0; n < Mail::kWords; ++n) {
      Letter& letter = letter_of(home, turn + n);
      Magazine* const empty = letter.magazine;
      if (empty == nullptr || letter.is_full || empty->capacity < capacity) continue;
      letter = {full, true, 0};
      return empty;
    }
    return nullptr;
  }
  void give(Magazine* magazine, unsigned home) { shards_[home].waiting.push_back(magazine); }
  Magazine* post(Magazine* magazine, unsigned home, unsigned turn) {
    for (unsigned n = 0; n < Mail::kWords; ++n) {
      Letter& letter = letter_of(home, turn + n);
      if (letter.magazine != nullptr) continue;
      letter = {magazine, true, 0};
      return nullptr;
    }
    Letter& letter = letter_of(home, turn);
    const Letter other = letter;
    letter = {magazine, true, 0};
    if (!other.is_full) return other.magazine;
    give(other.magazine, home);
    return nullptr;
  }
  uint32_t depth() const {
    uint32_t sum = 0;
    for (const Shard& shard : shards_) {
      sum += level(shard);
      for (const Letter& letter : shard.mail) sum += letter.magazine != nullptr && letter.is_full;
    }
    return sum;
  }
  uint64_t objects(unsigned home) const {
    uint64_t sum = 0;
    for (Magazine* const magazine : shards_[home].waiting) sum += magazine->rounds;
    for (const Letter& letter : shards_[home].mail) {
      if (letter.magazine != nullptr && letter.is_full) sum += letter.magazine->rounds;
    }
    return sum;
  }
  uint32_t tick() {
    uint32_t idle = 0;
    for (Shard& shard : shards_) {
      idle += shard.idle = shard.window.tick(level(shard));
      for (Letter& letter : shard.mail) {
        if (letter.magazine == nullptr) continue;
        if (letter.age == LowWater::kTicks) {
          ++idle;
        } else {
          ++letter.age;
        }
      }
    }
    return idle;
  }
  Magazine* take_idle() {
    for (Shard& shard : shards_) {
      shard.idle = std::min(shard.idle, shard.window.lowest());
      if (shard.idle == 0) continue;
      --shard.idle;
      shard.window.remove(1);
      return pop(shard);
    }
    for (Shard& shard : shards_) {
      for (Letter& letter : shard.mail) {
        if (letter.magazine == nullptr || letter.age < LowWater::kTicks) continue;
        Magazine* const magazine = letter.magazine;
        letter = {};
        return magazine;
      }
    }
    return nullptr;
  }
  // The objects of sixteen of the largest are free; each further magazine needs a refusal and,
  // later, a refill.
  bool grants(uint32_t largest) {
    uint64_t waiting = 0;
    for (unsigned home = 0; home < kShards; ++home) waiting += objects(home);
    if (waiting < 16 * largest) return true;
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
  struct Letter {
    Magazine* magazine = nullptr;
    bool is_full = false;
    uint32_t age = 0;  // ticks
  };
  struct Shard {
    std::array<Letter, Mail::kWords> mail;
    std::vector<Magazine*> waiting;
    Window window;
    uint32_t idle = 0;
  };
  Letter& letter_of(unsigned home, unsigned turn) {
    return shards_[home].mail[turn % Mail::kWords];
  }
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
      if (random.one_in(8)) {
        make_idle(*depot, id);
        make_idle(model);
      } else if (depot->tick(id) != model.tick()) {
        return "tick";
      }
    } else if (random.one_in(6)) {
      Magazine* const magazine = depot->take_idle(id);
      if (magazine != model.take_idle()) return "take of what nobody needed";
      if (magazine != nullptr) outside.push_back(magazine);
    } else if (random.one_in(50)) {
      depot->freeze();
      depot->thaw();
    } else if (random.one_in(6)) {
      const uint32_t largest = random.one_in(2) ? 4 : 16;
      if (depot->grants_magazine(id, largest) != model.grants(largest)) return "grants a magazine";
    } else if (random.one_in(10)) {
      depot->note_refill(id);
      model.refill();
    } else if (random.below(10) < lean && !outside.empty()) {
      std::swap(outside[random.below(outside.size())], outside.back());
      Magazine* const magazine = outside.back();
      outside.pop_back();
      magazine->rounds = 1 + random.below(magazine->capacity);
      const uint32_t capacity = random.one_in(4) ? 17 : 16;
      if (random.one_in(4)) {
        depot->give(id, magazine, home);
        model.give(magazine, home);
      } else if (Magazine* const empty = depot->exchange(id, magazine, capacity, home, step)) {
        if (empty != model.exchange(magazine, capacity, home, step)) return "exchange";
        if (empty->rounds != 0) return "an empty magazine";
        outside.push_back(empty);
      } else {
        if (model.exchange(magazine, capacity, home, step) != nullptr) return "no exchange";
        Magazine* const displaced = depot->post(id, magazine, home, step);
        if (displaced != model.post(magazine, home, step)) return "post";
        if (displaced != nullptr) outside.push_back(displaced);
      }
    } else if (random.one_in(2) && !outside.empty()) {
      Magazine* const empty = outside.back();
      const Mail::Word word = depot->mail(id, home).take(Mail::empty(empty, empty->capacity), step);
      Magazine* const full = Mail::magazine(word);
      if (full != model.take_from_mail(home, empty, step)) return "take from the mail";
      if (full != nullptr && Mail::rounds(word) != full->rounds) return "rounds in the mail";
      if (full != nullptr) outside.back() = full;
    } else {
      auto source = static_cast<uint8_t>(random.below(kShards)), other = source;
      Magazine* const magazine = depot->take(id, home, source, step);
      if (magazine != model.take(home, other, step) || source != other) return "take";
      if (magazine != nullptr) outside.push_back(magazine);
    }
    for (unsigned n = 0; n < kClasses; ++n) {
      if (depth(*depot, ClassId(n)) != models[n].depth()) return "depth";
      for (unsigned of = 0; of < kShards; ++of) {
        if (depot->objects(ClassId(n), of) != models[n].objects(of)) return "objects";
      }
    }
  }
  for (unsigned n = 0; n < kClasses; ++n) {
    while (Magazine* magazine = take_any(*depot, ClassId(n))) outside.push_back(magazine);
    make_idle(*depot, ClassId(n));
    while (Magazine* magazine = depot->take_idle(ClassId(n))) outside.push_back(magazine);
  }
  return outside.size() == rack.count() ? nullptr : "magazines lost";
}

}  // namespace

TEST_CASE("the depot takes, gives, ages and grants as its model does") {
  CHECK(first_failure(60, run) == "");
}
