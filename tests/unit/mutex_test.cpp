// SPDX-License-Identifier: MIT
#include "sizeclass/base/mutex.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "preload/process/process.h"
#include "tests/skip.h"
#include "tests/unit/child.h"

using namespace pktmalloc;
using pktmalloc::test::end_of_child;

namespace {

// Asked by another thread.
bool is_free(Mutex& mutex) {
  bool got = false;
  std::thread([&] {
    got = mutex.try_lock();
    if (got) mutex.unlock();
  }).join();
  return got;
}

}  // namespace

// Mutexes here are static because a Mutex has no destructor: on the stack a second one would lie
// where the first did, and the thread sanitizer would take them for one.

TEST_CASE("locks taken in the order of their ranks are taken") {
  static Mutex ageing{LockRank::kAgeing}, caches{LockRank::kCaches}, area{LockRank::kArea + 3};
  for (int round = 0; round < 2; ++round) {
    const Lock first(ageing);
    const Lock second(caches);
    const Lock third(area);
    CHECK(!is_free(ageing));
    CHECK(!is_free(caches));
    CHECK(!is_free(area));
  }
  const Lock alone(area);
  CHECK(is_free(ageing));
  CHECK(is_free(caches));
  CHECK(!is_free(area));
}

TEST_CASE("a lock of a lower rank than one held aborts, in the debug build") {
  if (!kCheckLockRanks) skip("this variant does not check lock ranks");
  const auto ending = end_of_child([] {
    static Mutex caches{LockRank::kCaches}, area{LockRank::kArea};
    area.lock();
    caches.lock();
    return 0;
  });
  CHECK(ending.signal == SIGABRT);
}

TEST_CASE("a lock taken twice aborts, and so do two of one rank, in the debug build") {
  if (!kCheckLockRanks) skip("this variant does not check lock ranks");
  CHECK(end_of_child([] {
          static Mutex mutex{LockRank::kCaches};
          mutex.lock();
          mutex.lock();
          return 0;
        }).signal == SIGABRT);
  CHECK(end_of_child([] {
          static Mutex one{LockRank::kArea + 7}, other{LockRank::kArea + 7};
          one.lock();
          other.lock();
          return 0;
        }).signal == SIGABRT);
}

TEST_CASE("the rank of a lock that was given back holds nobody up") {
  const auto ending = end_of_child([] {
    static Mutex ageing{LockRank::kAgeing}, caches{LockRank::kCaches}, area{LockRank::kArea};
    caches.lock();
    area.lock();
    area.unlock();
    caches.unlock();
    ageing.lock();
    caches.lock();
    caches.unlock();
    ageing.unlock();
    return 0;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("ranks are counted by thread") {
  static Mutex area{LockRank::kArea}, caches{LockRank::kCaches};
  const Lock lock(area);
  bool is_taken = false;
  std::thread([&] {
    const Lock other(caches);
    is_taken = !is_free(caches);
  }).join();
  CHECK(is_taken);
}

TEST_CASE("a try for a lock that another thread holds fails at once") {
  static Mutex mutex{LockRank::kAgeing};
  {
    const Lock lock(mutex);
    CHECK(!is_free(mutex));
  }
  CHECK(is_free(mutex));
}

TEST_CASE("magazine areas rank above every class") {
  CHECK(LockRank::kMagazineArea > LockRank::kArea + (kMaxClasses - 1));
  CHECK(LockRank::kCaches < LockRank::kArea);
}

TEST_CASE("the library's own locks are taken before the engine's") {
  CHECK(part_rank(PartId::trace, 1) < LockRank::kAgeing);
  CHECK(kStartRank < part_rank(PartId::report));
  const auto ending = end_of_child([] {
    static Mutex start{kStartRank}, ageing{LockRank::kAgeing};
    start.lock();
    ageing.lock();
    ageing.unlock();
    start.unlock();
    return 0;
  });
  CHECK(ending.status == 0);
}
