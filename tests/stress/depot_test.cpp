// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/depot.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/stress/crew.h"
#include "tests/unit/idle.h"
#include "tests/unit/magazine_rack.h"
#include "tests/unit/waiting_magazines.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr unsigned kMagazines = 64;
constexpr unsigned kClasses = 3;

// Threads move magazines between the stacks; `meanwhile` runs beside them until they are done.
template <typename Meanwhile>
void hammer(unsigned threads, Meanwhile&& meanwhile) {
  MagazineRack rack(kMagazines);
  const auto depot = std::make_unique<Depot>();
  for (unsigned n = 0; n < kMagazines; ++n) depot->give(ClassId(n % kClasses), rack[n]);
  std::vector<std::atomic<int>> hands(kMagazines);
  std::atomic<unsigned> wrong = 0, running = threads;
  {
    Crew crew(threads, [&](unsigned number) {
      Dice dice(number + 1);
      std::vector<Magazine*> held;
      const auto hold = [&](Magazine* magazine) {
        if (magazine == nullptr) return;
        if (hands[rack.number_of(magazine)].fetch_add(1, std::memory_order_relaxed) != 0) ++wrong;
        // Not atomic: two hands would race on it.
        magazine->rounds = magazine->rounds % 16 + 1;
        held.push_back(magazine);
      };
      const auto let_go = [&] {
        Magazine* const magazine = held.back();
        hands[rack.number_of(magazine)].fetch_sub(1, std::memory_order_relaxed);
        held.pop_back();
        return magazine;
      };
      for (unsigned n = 0; n < 400'000 / kSlower; ++n) {
        const ClassId id{static_cast<uint8_t>(dice.below(kClasses))};
        const unsigned home = dice.below(2);
        auto source = static_cast<uint8_t>(home);
        if (held.size() < 8 && dice.below(2) == 0) {
          hold(depot->take(id, home, source, n));
        } else if (!held.empty() && dice.below(2) == 0) {
          depot->give(id, let_go(), home);
        } else if (!held.empty() && dice.below(2) == 0) {
          hold(depot->post(id, let_go(), home, n));
        } else if (!held.empty()) {
          // As an empty one for a full one, or the other way round.
          Magazine* const mine = let_go();
          Magazine* other =
              Mail::magazine(depot->mail(id, home).take(Mail::empty(mine, mine->capacity), n));
          if (other == nullptr) other = depot->exchange(id, mine, 1, home, n);
          if (other == nullptr) depot->give(id, mine, home);
          hold(other);
        }
      }
      while (!held.empty()) depot->give(ClassId{0}, let_go());
      --running;
    });
    while (running > 0) meanwhile(*depot);
  }
  CHECK(wrong == 0);
  unsigned found = 0;
  for (unsigned i = 0; i < kClasses; ++i) {
    const uint32_t waiting = depth(*depot, ClassId(i));
    unsigned here = 0;
    while (Magazine* magazine = take_any(*depot, ClassId(i))) {
      ++here;
      CHECK(hands[rack.number_of(magazine)].fetch_add(1) == 0);
    }
    CHECK(here == waiting);
    make_idle(*depot, ClassId(i));
    while (depot->take_idle(ClassId(i)) != nullptr) ++here;  // empty ones in the mail
    found += here;
  }
  CHECK(found == kMagazines);
}

}  // namespace

TEST_CASE("no magazine is in two hands and none is lost, among four and eight threads") {
  for (const unsigned threads : {4U, 8U})
    hammer(threads, [](Depot&) { std::this_thread::yield(); });
}

TEST_CASE("no magazine is lost while the depot is frozen and thawed and its ticks end") {
  hammer(4, [](Depot& depot) {
    depot.freeze();
    std::this_thread::yield();
    depot.thaw();
    for (unsigned i = 0; i < kClasses; ++i) depot.tick(ClassId(i));
    std::this_thread::yield();
  });
}
