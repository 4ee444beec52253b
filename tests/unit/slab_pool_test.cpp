// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_pool.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <vector>

#include "tests/model/random.h"
#include "tests/skip.h"
#include "tests/unit/child.h"
#include "tests/unit/lone_pool.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

constexpr ClassId kA{1}, kB{2};
constexpr uint32_t kNone = SlabPool::kNone;

uintptr_t address(const LonePool& pool, uint32_t unit) {
  return reinterpret_cast<uintptr_t>(pool.at(unit));
}

// Slabs of one unit, with something in each.
void take_many(LonePool& pool, ClassId id, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t unit = pool.take(id);
    if (unit == kNone) FAIL("refused");
    memset(pool.at(unit), 0x5a, pool.unit_bytes());
  }
}

void give_run(LonePool& pool, ClassId id, uint32_t from, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) pool.give(id, from + n);
}

void purge_all(LonePool& pool, bool splits = false) {
  while (pool->purge_some(1000, splits) > 0) {
  }
}

// mlock and munlock; sanitizers let those do nothing.
bool lock(LonePool& pool, uint32_t units) {
  return syscall(SYS_mlock, pool.at(0), units * pool.unit_bytes()) == 0;
}
void unlock(LonePool& pool, uint32_t units) {
  syscall(SYS_munlock, pool.at(0), units * pool.unit_bytes());
}

bool is_zero(const LonePool& pool, uint32_t unit, uint32_t units = 1) {
  const char* const begin = pool.at(unit);
  return std::all_of(begin, begin + units * pool.unit_bytes(), [](char c) { return c == 0; });
}

bool is_resident(const LonePool& pool, uint32_t unit) {
  return memory::resident_bytes(pool.at(unit), pool.unit_bytes()) > 0;
}

}  // namespace

TEST_CASE("a new pool gives its units from the bottom, and the map says whose they are") {
  LonePool pool(200);
  CHECK(pool.take(kA) == 0);
  CHECK(pool.take(kB, 5) == 1);
  CHECK(pool.take(kA, 64) == 6);
  for (uint32_t unit = 0; unit < 70; ++unit) {
    const ClassId owner = unit >= 1 && unit < 6 ? kB : kA;
    const uint32_t first = unit == 0 ? 0 : unit < 6 ? 1 : 6;
    CHECK(pool->slab_of(owner, address(pool, unit)) == 1 + first);
    CHECK(pool->slab_of(owner, address(pool, unit + 1) - 1) == 1 + first);
    CHECK(pool->slab_of(owner == kA ? kB : kA, address(pool, unit)) == kNone);
  }
  for (const ClassId id : {kA, kB}) {
    CHECK(pool->slab_of(id, address(pool, 70)) == kNone);
    CHECK(pool->slab_of(id, address(pool, 199)) == kNone);
    CHECK(pool->slab_of(id, pool->base()) == kNone);
    CHECK(pool->slab_of(id, pool->base() - 1) == kNone);
    CHECK(pool->slab_of(id, ~uintptr_t{0}) == kNone);
  }
  CHECK(is_zero(pool, 0, 70));
}

TEST_CASE("the lowest empty units that lie together serve, over the borders of words") {
  LonePool pool(300);
  take_many(pool, kA, 300);
  CHECK(pool.take(kA) == kNone);
  give_run(pool, kA, 3, 1);
  give_run(pool, kA, 10, 2);
  give_run(pool, kA, 60, 6);     // over the first border
  give_run(pool, kA, 100, 163);  // over two
  CHECK(pool.take(kB, 6) == 60);
  CHECK(pool.take(kB, 3) == 100);
  CHECK(pool.take(kB, 2) == 10);
  CHECK(pool.take(kB, 64) == 103);
  CHECK(pool.take(kB) == 3);
  CHECK(pool.take(kB, 64) == 167);
  CHECK(pool.take(kB, 33) == kNone);
  CHECK(pool.take(kB, 32) == 231);
  CHECK(pool->empty_units() == 0);
}

TEST_CASE("units go from class to class as they are, whatever the sizes of the slabs") {
  LonePool pool(64);
  CHECK(pool.take(kA, 9) == 0);
  CHECK(pool.take(kA, 9) == 9);
  memset(pool.at(0), 0x5a, 18 * pool.unit_bytes());
  pool.give(kA, 0, 9);
  pool.give(kA, 9, 9);
  CHECK(pool->slab_of(kA, address(pool, 4)) == kNone);
  const uint64_t commits = pool->share(kB).commits;
  for (const uint32_t units : {1, 4, 7, 6}) {
    const SlabPool::Taken taken = pool->take(kB, units);
    CHECK_FALSE(taken.clean);
    CHECK(pool.at(taken.unit - 1)[units * pool.unit_bytes() - 1] == 0x5a);
  }
  CHECK(pool->slab_of(kB, address(pool, 4)) == 2);
  CHECK(pool->slab_of(kB, address(pool, 11)) == 6);
  CHECK(pool->share(kB).commits == commits);
  CHECK(pool.used_units() == 18);
  CHECK(pool.open_units() == 18);
  CHECK(pool->counts().taken == 36 * pool.unit_bytes());
}

TEST_CASE("purged units serve after empty ones and before fresh ones, and are clean") {
  LonePool pool(64);
  take_many(pool, kA, 8);
  give_run(pool, kA, 0, 8);
  CHECK(pool->purge_some(5) == 5);
  CHECK(pool->empty_units() == 3);
  CHECK(pool.open_units() == 3);
  CHECK(pool.used_units() == 8);
  CHECK(pool.take(kB, 2) == 0);
  SlabPool::Taken taken = pool->take(kB, 2);  // one is empty, one purged
  CHECK(taken.unit == 1 + 2);
  CHECK_FALSE(taken.clean);
  taken = pool->take(kB, 4);
  CHECK(taken.unit == 1 + 4);
  CHECK(taken.clean);
  CHECK(is_zero(pool, 4, 4));
  CHECK(pool.take(kB) == 8);
  CHECK(pool.open_units() == 9);
}

TEST_CASE("what nobody has at the end serves together with fresh units") {
  LonePool pool(20);
  take_many(pool, kA, 18);
  give_run(pool, kA, 14, 4);
  CHECK(pool->purge_some(2) == 2);
  const SlabPool::Taken taken = pool->take(kB, 6);
  CHECK(taken.unit == 1 + 14);
  CHECK_FALSE(taken.clean);
  CHECK(is_zero(pool, 16, 4));
  CHECK(pool.open_units() == 20);
  CHECK(pool->empty_units() == 0);
  CHECK(pool.take(kA) == kNone);
  CHECK(pool->purge_some(1) == 0);
}

TEST_CASE("a pool that is to give zeros does") {
  LonePool pool(64, HugePages::kAuto, true);
  take_many(pool, kA, 8);
  give_run(pool, kA, 0, 8);
  CHECK(pool->purge_some(2) == 2);
  const SlabPool::Taken taken = pool->take(kB, 7);
  CHECK(taken.unit == 1);
  CHECK(taken.clean);
  CHECK(is_zero(pool, 0, 7));
}

TEST_CASE("a purge takes adjacent empty units from the top, a few at once") {
  LonePool pool(64);
  const uint32_t step = static_cast<uint32_t>((size_t{256} << 10) / pool.unit_bytes());
  take_many(pool, kA, 50);
  for (const uint32_t unit : {1, 2, 3, 6, 8, 9}) pool.give(kA, unit);
  CHECK(pool->purge_some(0) == 0);
  CHECK(pool->purge_some(100) == 2);
  CHECK(pool->purge_some(100) == 1);
  CHECK(pool->purge_some(2) == 2);
  CHECK(pool->purge_some(2) == 1);
  CHECK(pool->purge_some(2) == 0);
  CHECK(pool->share(kA).purges == 4);
  CHECK(pool->share(kA).purged_total_bytes == 6 * pool.unit_bytes());
  CHECK(pool->counts().purged == 6 * pool.unit_bytes());
  give_run(pool, kA, 20, 30);
  CHECK(pool->purge_some(1000) == std::min(step, 30U));
  for (uint32_t unit = 0; unit < 20; ++unit) {
    const bool purged = std::set<uint32_t>{1, 2, 3, 6, 8, 9}.count(unit) != 0;
    CHECK(is_resident(pool, unit) != purged);
    if (!purged) CHECK(pool.at(unit)[pool.unit_bytes() - 1] == 0x5a);
  }
}

TEST_CASE("empty units that nobody needed for a window are reported by the tick") {
  LonePool pool(64);
  take_many(pool, kA, 10);
  give_run(pool, kA, 0, 10);
  for (unsigned n = 0; n < LowWater::kTicks; ++n) {
    CHECK(pool->tick() == 0);
    CHECK(pool.take(kB, 3) == 0);
    pool.give(kB, 0, 3);
  }
  CHECK(pool->tick() == 7);
  CHECK(pool->purge_some(7) == 7);
  CHECK(pool->empty_units() == 3);
  CHECK(pool->tick() == 0);
}

TEST_CASE("what the system refuses to take stays empty, and is passed over until the next tick") {
  for (const uint32_t locked : {0U, 15U, 29U}) {
    LonePool pool(64);
    take_many(pool, kA, 30);
    give_run(pool, kA, 0, 30);
    if (syscall(SYS_mlock, pool.at(locked), 1) != 0) skip("no memory may be locked");
    purge_all(pool);
    const uint32_t step = (uint32_t{256} << 10) / static_cast<uint32_t>(pool.unit_bytes());
    CHECK(pool->empty_units() > 0);
    CHECK(pool->empty_units() <= step);
    CHECK(pool->waiting_bytes() == 0);
    CHECK(pool->share(kA).empty_bytes == pool->empty_units() * pool.unit_bytes());
    CHECK(pool->purge_some(30) == 0);
    pool->tick();
    CHECK(pool->purge_some(30) > 0);
    CHECK(pool->purge_some(30) == 0);
    syscall(SYS_munlock, pool.at(locked), 1);
    pool->tick();
    purge_all(pool);
    CHECK(pool->empty_units() == 0);
    CHECK(pool->share(kA).purged_total_bytes == 30 * pool.unit_bytes());
  }
}

TEST_CASE("where the system refuses much it is asked for nothing, and again much later") {
  LonePool pool(400);
  const auto units = static_cast<uint32_t>((size_t{4} << 20) / pool.unit_bytes());
  take_many(pool, kA, units);
  give_run(pool, kA, 0, units);
  if (!lock(pool, units)) skip("no memory may be locked");
  uint32_t asked = 0;
  while (const uint32_t count = pool->purge_some(units)) asked += count;
  CHECK(asked == units / 4);
  unlock(pool, units);
  CHECK(pool->empty_units() == units);
  CHECK(pool->waiting_bytes() == 0);
  CHECK(pool.open_units() == units);
  CHECK(pool->counts().purged == 0);
  CHECK(pool->share(kA).purged_total_bytes == 0);
  CHECK(pool->share(kA).empty_bytes == units * pool.unit_bytes());
  for (unsigned ticks = 1; ticks < 64; ++ticks) {
    CHECK(pool->tick() == 0);
    CHECK(pool->purge_some(3) == 0);
  }
  pool->tick();
  CHECK(pool->purge_some(1) == 1);
  REQUIRE(lock(pool, units - 1));
  while (pool->purge_some(units) > 0) continue;
  unlock(pool, units);
  CHECK(pool->purge_some(2) == 0);
  pool->tick(true);
  CHECK(pool->purge_some(2) == 2);
}

TEST_CASE("a limit counts units that are owned or empty") {
  LonePool pool(64);
  const size_t unit = pool.unit_bytes();
  pool.limit.set(10 * unit, MemoryLimit::kNone);
  CHECK(pool.take(kA, 6) == 0);
  CHECK(pool.take(kA, 5) == kNone);
  CHECK(pool.take(kB, 4) == 6);
  CHECK(pool.take(kB) == kNone);
  pool.give(kA, 0, 6);
  CHECK(pool.limit.left() == 0);
  CHECK(pool.take(kB, 2) == 0);
  CHECK(pool.take(kB, 5) == kNone);  // four lie free
  CHECK(pool->purge_some(3) == 3);
  CHECK(pool.limit.used() == 7 * unit);
  CHECK(pool.take(kA, 3) == 2);  // one is empty, two are purged
  CHECK(pool.limit.used() == 9 * unit);
  CHECK(pool.take(kA) == 5);
  CHECK(pool.limit.left() == 0);
}

TEST_CASE("counts and shares follow a unit, and what is empty is its last class's") {
  LonePool pool(64);
  const size_t unit = pool.unit_bytes();
  take_many(pool, kA, 4);
  CHECK(pool->share(kA).empty_bytes == 0);
  give_run(pool, kA, 0, 4);
  CHECK(pool->share(kA).empty_bytes == 4 * unit);
  CHECK(pool->waiting_bytes() == 4 * unit);
  CHECK(pool.take(kB, 2) == 0);
  CHECK(pool->share(kA).empty_bytes == 2 * unit);
  pool.give(kB, 0, 2);
  CHECK(pool->share(kB).empty_bytes == 2 * unit);
  CHECK(pool->purge_some(10) == 4);  // at one go
  CHECK(pool->share(kA).purges + pool->share(kB).purges == 1);
  CHECK(pool->share(kA).purged_total_bytes == 2 * unit);
  CHECK(pool->share(kB).purged_total_bytes == 2 * unit);
  CHECK(pool->share(kA).empty_bytes + pool->share(kB).empty_bytes == 0);
  CHECK(pool->counts().taken == 6 * unit);
  CHECK(pool->counts().open == 0);
  CHECK(pool->counts().used == 4 * unit);
  CHECK(pool->resident_bytes() == 0);
}

TEST_CASE("a decommit gives back the addresses at the top, which are had again") {
  LonePool pool(200);
  take_many(pool, kA, 100);
  give_run(pool, kA, 60, 40);
  give_run(pool, kA, 20, 10);
  purge_all(pool);
  const uint64_t mapped = pool->counts().mapped;
  pool->decommit();
  CHECK(pool.used_units() == 60);
  CHECK(pool.open_units() == 50);
  CHECK(pool->counts().mapped <= mapped - 40 * pool.unit_bytes());
  CHECK(pool->bytes() == address(pool, 60) - pool->base());
  CHECK(pool->slab_of(kA, address(pool, 59)) == 1 + 59);
  CHECK(pool->slab_of(kA, address(pool, 70)) == kNone);
  CHECK(pool.at(25)[0] == 0);  // may be looked at

  // What lies there meanwhile belongs to somebody else.
  void* const other = mmap(pool.at(60), 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  REQUIRE(other == static_cast<void*>(pool.at(60)));
  CHECK(pool.take(kB, 11) == kNone);
  CHECK(pool.take(kB, 10) == 20);
  memset(pool.at(20), 1, 10 * pool.unit_bytes());
  CHECK(*static_cast<char*>(other) == 0);
  munmap(other, 4096);

  CHECK(pool.take(kB, 11) == 60);
  CHECK(is_zero(pool, 60, 11));
  memset(pool.at(60), 1, 11 * pool.unit_bytes());
  CHECK(pool->slab_of(kB, address(pool, 70)) == 1 + 60);
  CHECK(pool.open_units() == 71);
  take_many(pool, kA, 200 - 71);
  CHECK(pool.take(kA) == kNone);
}

TEST_CASE("after a decommit of all the pool begins anew") {
  LonePool pool(64);
  for (int round = 0; round < 3; ++round) {
    take_many(pool, kA, 64);
    give_run(pool, kA, 0, 64);
    purge_all(pool);
    pool->decommit();
    CHECK(pool.used_units() == 0);
    CHECK(pool.open_units() == 0);
    CHECK(pool->slab_of(kA, address(pool, 0)) == kNone);
  }
  CHECK(pool.take(kB, 64) == 0);
  CHECK(is_zero(pool, 0, 64));
}

TEST_CASE("a pool that may not grow has the units that it has used") {
  LonePool pool(64);
  take_many(pool, kA, 10);
  pool->let_grow(false);
  CHECK(pool.take(kA) == kNone);
  give_run(pool, kA, 3, 4);
  CHECK(pool.take(kB, 4) == 3);
  CHECK(pool.take(kB) == kNone);
  pool->let_grow(true);
  CHECK(pool.take(kB) == 10);
}

TEST_CASE("a pool grows in few steps, and begins small") {
  LonePool pool((size_t{256} << 20) / (size_t{64} << 10), HugePages::kAuto, false, 16);
  CHECK(pool.take(kA) == 0);
  CHECK(pool->counts().mapped - pool->counts().bookkeeping == size_t{256} << 10);
  while (pool.take(kA, 16) != kNone) {
  }
  CHECK(pool->counts().mapped - pool->counts().bookkeeping == size_t{256} << 20);
  CHECK(pool->share(kA).commits <= 40);
}

TEST_CASE("under a tight limit a single slab is had where a step is refused, and all later") {
  const auto ending = end_of_child([] {
    LonePool pool(1000);
    const auto all = static_cast<uint32_t>((size_t{256} << 10) / pool.unit_bytes());
    for (uint32_t n = 0; n < all; ++n) {
      if (pool.take(kA) == kNone) return 1;
    }
    // Bookkeeping of the next units may be needed as well.
    limit_to(RLIMIT_DATA, process_bytes("VmData"), size_t{128} << 10);
    if (pool.take(kA) != all) return 2;
    if (pool->counts().mapped - pool->counts().bookkeeping != (all + 1) * pool.unit_bytes()) {
      return 3;
    }
    while (pool.take(kA) != kNone) {
    }
    const uint64_t used = pool.used_units();
    if (used >= 999) return 4;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    if (pool.take(kB) != used) return 5;
    while (pool.take(kA) != kNone) {
    }
    return pool.used_units() == 1000 ? 0 : 6;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("what is in a pool's way costs it nothing, and it grows when that is gone") {
  LonePool pool(1000);
  const auto all = static_cast<uint32_t>((size_t{256} << 10) / pool.unit_bytes());
  take_many(pool, kA, all);
  const uint64_t mapped = pool->counts().mapped;
  void* const in_the_way = pool.at(all + 1);
  REQUIRE(memory::map(in_the_way, memory::page_bytes()));
  CHECK(pool.take(kA, 2) == kNone);
  CHECK(pool->counts().mapped == mapped);
  CHECK(pool.take(kA) == all);
  CHECK(pool.take(kA) == kNone);
  REQUIRE(memory::release(in_the_way, memory::page_bytes()));
  take_many(pool, kA, 100);
}

TEST_CASE("the bookkeeping of what was decommitted stays when the pool then cannot grow") {
  LonePool pool(6000);
  const uint32_t blocks = SlabPool::kMostOfBlocks / pool.unit_bytes() / SlabPool::kMostBlock + 1;
  const uint32_t last = (blocks - 1) * SlabPool::kMostBlock;
  for (uint32_t n = 0; n < blocks; ++n) REQUIRE(pool.take(kNoClass, SlabPool::kMostBlock) != kNone);
  for (uint32_t n = 0; n < blocks; ++n) {
    REQUIRE(pool->resize_block(address(pool, n * SlabPool::kMostBlock), 0) != 0);
  }
  pool->purge_excess(2 * SlabPool::kMostBlock);
  REQUIRE(pool->empty_units() == last);
  pool->decommit();
  REQUIRE(memory::map(pool.at(last), memory::page_bytes()));
  CHECK(pool.take(kNoClass, last + 1) == kNone);
  CHECK(pool->purge_some(1) == 1);
  memory::release(pool.at(last), memory::page_bytes());
}

TEST_CASE("of freed blocks as much waits as lives, and what classes gave back waits beside") {
  LonePool pool(3500, HugePages::kAuto, false, SlabPool::kUnitShift);
  constexpr uint32_t kUnits = SlabPool::kMostBlock, kBlocks = 6, kBetween = 100;
  const auto least = static_cast<uint32_t>(SlabPool::kMostOfBlocks / pool.unit_bytes());
  uint32_t blocks[kBlocks];
  for (uint32_t n = 0; n < kBlocks; ++n) {
    if (n == kBlocks / 2) take_many(pool, kA, kBetween);
    REQUIRE((blocks[n] = pool.take(kNoClass, kUnits)) != kNone);
  }
  give_run(pool, kA, blocks[kBlocks / 2] - kBetween, kBetween);
  for (uint32_t n = 0; n < kBlocks; ++n) {
    REQUIRE(pool->resize_block(address(pool, blocks[n]), 0) != 0);
    pool->purge_excess(2 * kUnits);
    const uint32_t freed = (n + 1) * kUnits, live = (kBlocks - 1 - n) * kUnits;
    CHECK(pool->empty_units() == kBetween + std::min(freed, std::max(live, least)));
  }
  CHECK(pool->share(kA).purged_total_bytes == 0);
}

TEST_CASE("what blocks take again after it was purged waits the next time, for some ticks") {
  LonePool pool(7000, HugePages::kAuto, false, SlabPool::kUnitShift);
  constexpr uint32_t kUnits = SlabPool::kMostBlock, kBlocks = 12, kAll = kBlocks * kUnits;
  const auto least = static_cast<uint32_t>(SlabPool::kMostOfBlocks / pool.unit_bytes());
  const auto use_all = [&] {
    uint32_t blocks[kBlocks];
    for (uint32_t& block : blocks) REQUIRE((block = pool.take(kNoClass, kUnits)) != kNone);
    for (const uint32_t block : blocks) {
      REQUIRE(pool->resize_block(address(pool, block), 0) != 0);
      pool->purge_excess(2 * kUnits);
    }
    return pool->empty_units();
  };
  CHECK(use_all() == least);
  CHECK(use_all() == kAll - least);
  CHECK(use_all() == kAll);
  for (unsigned n = 0; n < 20; ++n) pool->tick();
  CHECK(use_all() == least);
}

namespace {

const uint32_t kUnitsInHuge = static_cast<uint32_t>(memory::huge_page_bytes() >> unit_shift());
constexpr uint32_t kUsed = 2000;
constexpr uint32_t kSafelyHuge = 1000;  // units from here on

// So large that it asks for huge pages, all in use.
struct FullPool : LonePool {
  explicit FullPool(HugePages use) : LonePool(2500, use) { take_many(*this, kA, kUsed); }
  void give_all_but(const std::set<uint32_t>& kept) {
    for (uint32_t unit = 0; unit < kUsed; ++unit) {
      if (kept.count(unit) == 0) give(kA, unit);
    }
  }
  static uint32_t page(uint32_t unit) { return (unit + 1) / kUnitsInHuge; }
};

}  // namespace

TEST_CASE("without huge pages each empty unit is purged") {
  for (const HugePages use : {HugePages::kAuto, HugePages::kNever}) {
    FullPool pool(use);
    pool.give_all_but({100, 1500});
    purge_all(pool);
    CHECK(pool.open_units() == 2);
  }
}

TEST_CASE("a huge page in use stays whole, goes as a whole, and is split by a trim") {
  if (kUnitsInHuge > 500) skip("huge pages are too large for this pool");
  FullPool pool(HugePages::kMadvise);
  pool.give_all_but({1500});
  purge_all(pool);
  CHECK(pool.open_units() == kUnitsInHuge);
  CHECK(pool->empty_units() == kUnitsInHuge - 1);
  // What is kept with it is used before what was purged.
  for (uint32_t n = 1; n < kUnitsInHuge; ++n)
    CHECK(FullPool::page(pool.take(kB)) == FullPool::page(1500));
  CHECK(pool.take(kB) == 0);
  for (uint32_t unit = 0; unit < kUsed; ++unit) {
    if (pool->slab_of(kB, address(pool, unit)) != kNone) pool.give(kB, unit);
  }
  purge_all(pool, true);
  CHECK(pool.open_units() == 1);
  pool.give(kA, 1500);
  purge_all(pool);
  CHECK(pool.open_units() == 0);
  CHECK(pool->purge_some(1) == 0);
}

TEST_CASE("the beginning of a pool has small pages, which go one by one") {
  FullPool pool(HugePages::kMadvise);
  for (uint32_t unit = 0; unit < 96; unit += 2) pool.give(kA, unit);
  purge_all(pool);
  CHECK(pool->empty_units() == 0);
  CHECK(pool.open_units() == kUsed - 48);
}

TEST_CASE("whatever is freed in whatever order, whole huge pages go and others stay") {
  if (kUnitsInHuge > 500) skip("huge pages are too large for this pool");
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    FullPool pool(HugePages::kMadvise);
    std::set<uint32_t> used;
    for (uint32_t unit = 0; unit < kUsed; ++unit) used.insert(unit);
    for (int round = 0; round < 40; ++round) {
      const uint32_t from = random.below(kUsed);
      const uint32_t until = std::min(kUsed, from + 1 + random.below(300));
      for (uint32_t unit = from; unit < until; ++unit) {
        if (used.erase(unit) > 0) pool.give(kA, unit);
      }
      for (uint32_t n = random.below(6); n > 0; --n) pool->purge_some(1 + random.below(64));
    }
    purge_all(pool);
    std::set<uint32_t> pages;  // with something in use
    for (const uint32_t unit : used) pages.insert(FullPool::page(unit));
    uint32_t wrong = 0;
    for (uint32_t unit = kSafelyHuge; unit < kUsed; ++unit) {
      wrong += is_resident(pool, unit) != (pages.count(FullPool::page(unit)) > 0);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the system's huge pages serve as far as they reach") {
  if (kUnitsInHuge > 500) skip("huge pages are too large for this pool");
  LonePool pool(2000);
  take_many(pool, kA, 10);
  uint32_t slabs = 2 * kUnitsInHuge / 3;
  const uint32_t unit = pool->take_on_huge_pages(kB, 3, slabs);
  const bool none = unit == kNone;
  if (!none) {
    CHECK(pool->start_of(unit) % memory::huge_page_bytes() == 0);
    CHECK(slabs > 0);
    CHECK(slabs <= 2 * kUnitsInHuge / 3);
    CHECK(pool->slab_of(kB, pool->start_of(unit + 3 * slabs) - 1) == unit + 3 * (slabs - 1));
    CHECK(pool.open_units() == 10 + 3 * slabs);
    memset(reinterpret_cast<void*>(pool->start_of(unit)), 1, 3 * slabs * pool.unit_bytes());
  }
  // What lies before, and behind.
  take_many(pool, kA, 1000);
  CHECK(pool.open_units() == 1010 + (none ? 0 : 3 * slabs));
  if (none) skip("the system has no pool of huge pages");
}
