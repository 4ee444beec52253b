// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/slab_area.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <set>

#include "sizeclass/base/misuse.h"
#include "tests/unit/child.h"
#include "tests/unit/lone_area.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

const size_t kUnit = size_t{1} << unit_shift();

// The exit status of a child that drains these objects and has its misuse told by exit.
Ending end_of_drain(LoneArea& area, const std::vector<uintptr_t>& objects) {
  return end_of_child([&] {
    misuse_handler = [](Misuse misuse, uintptr_t, size_t) {
      _exit(misuse == Misuse::kDoubleFree ? 11 : 12);
    };
    area.drain(objects);
    return 0;
  });
}

}  // namespace

TEST_CASE("a slab's objects are handed out round from one that differs from slab to slab") {
  for (const size_t bytes : {16, 32, 592, 1536, 9216, 65536}) {
    LoneArea area(bytes, 256);
    CAPTURE(bytes);
    const std::vector<uintptr_t> objects = area.fill(area.capacity());
    REQUIRE(objects.size() == area.capacity());
    uint32_t wrong = 0;
    for (uint32_t n = 0; n < objects.size(); ++n) {
      wrong += objects[n] != area.nth(n / area.per_slab(), n % area.per_slab());
    }
    CHECK(wrong == 0);
  }
  LoneArea area(64, 32);
  std::set<size_t> offsets, lines;
  for (uint32_t n = 0; n < 16; ++n) {
    const size_t offset = area.fill(area.per_slab()).front() % kUnit;
    offsets.insert(offset);
    lines.insert(offset % (kUnit / 16));
  }
  CHECK(offsets.size() == 16);
  CHECK(lines.size() == 16);
}

TEST_CASE("the first objects of a slab lie in one page") {
  const size_t page = 4096;
  for (const size_t bytes : {16, 48, 96, 208, 320, 384, 448, 592, 768}) {
    LoneArea area(bytes, 32, ClassTable::kUnitShift);
    CAPTURE(bytes);
    for (uint32_t n = 0; n < area.slabs(); ++n) {
      const std::vector<uintptr_t> objects = area.fill(area.per_slab());
      CHECK(objects[0] / page == (objects[2] + bytes - 1) / page);
    }
  }
}

TEST_CASE("small objects come in whole cache lines, as long as a slab has any") {
  LoneArea area(16, 16);
  const std::vector<uintptr_t> all = area.fill(area.capacity());
  // One object of a line, a line, and one that reaches over two lines.
  area.drain({all[1], all[4], all[5], all[6], all[7], all[10], all[11], all[12], all[13]});
  std::vector<uintptr_t> got = area.fill(4);
  CHECK(std::set<uintptr_t>(got.begin(), got.end()) ==
        std::set<uintptr_t>{all[4], all[5], all[6], all[7]});
  CHECK(area.fill(5).size() == 5);
  CHECK(area->statistics().free_objects == 0);
}

TEST_CASE("an exhausted area gives what it has, then nothing, and serves again after a drain") {
  LoneArea area(64, 16);
  const std::vector<uintptr_t> most = area.fill(area.capacity() - 10);
  const std::vector<uintptr_t> rest = area.fill(100);
  CHECK(rest.size() == 10);
  CHECK(area.fill(1).empty());
  CHECK(area->statistics().free_objects == 0);
  area.drain({most[3]});
  CHECK(area.fill(5) == std::vector<uintptr_t>{most[3]});
}

TEST_CASE("objects come from partial slabs first, from the lowest one") {
  LoneArea area(kUnit / 8, 64);  // 8 objects a slab
  area.fill(8 * 10);
  area.drain(area.slab(2));
  area.drain({area.nth(7, 1), area.nth(5, 6), area.nth(5, 3)});
  CHECK(area.fill(5) == std::vector<uintptr_t>{area.nth(5, 3), area.nth(5, 6), area.nth(7, 1),
                                               area.nth(2, 0), area.nth(2, 1)});
}

TEST_CASE("a slab whose objects are all free is the pool's, and any class's") {
  LonePool pool(64);
  LoneArea one(kUnit / 4, pool, ClassId{1}), other(3 * kUnit / 4, pool, ClassId{2});
  REQUIRE(other.shape().units == 3);
  const std::vector<uintptr_t> objects = one.fill(4 * 6);
  one.drain({objects.begin() + 4, objects.begin() + 16});
  AreaStatistics s = one->statistics();
  CHECK(s.slabs == 3);
  CHECK(s.empty_slabs == 0);
  CHECK(s.free_objects == 0);
  CHECK(pool->empty_units() == 3);
  CHECK(one->object_at(objects[5]) == 0);
  CHECK(other.fill(other.per_slab()).size() == other.per_slab());
  CHECK(other->object_at(objects[5]) != 0);
  CHECK(pool->empty_units() == 0);
  CHECK(one.fill(4).front() >= reinterpret_cast<uintptr_t>(pool.at(6)));
  s = other->statistics();
  CHECK(s.slabs == 1);
  CHECK(s.free_objects == 0);
}

TEST_CASE("a drain finds an object that is free already") {
  LoneArea area(96, 64);
  const std::vector<uintptr_t> objects = area.fill(100);
  area.drain({objects[10], objects[99]});
  CHECK(end_of_drain(area, {objects[11]}).status == 0);
  CHECK(end_of_drain(area, {objects[10]}).status == 11);
  CHECK(end_of_drain(area, {objects[12], objects[99]}).status == 11);
  CHECK(end_of_drain(area, {objects[12], objects[12]}).status == 11);
  area.drain({objects[0]});
  area.drain(area.fill(3));
  CHECK(end_of_drain(area, {objects[0]}).status == 11);
}

TEST_CASE("a drain finds an object of a slab that is no longer the class's") {
  LonePool pool(64);
  LoneArea one(kUnit / 4, pool, ClassId{1}), other(kUnit / 4, pool, ClassId{2});
  const std::vector<uintptr_t> objects = one.fill(8);
  one.drain(objects);
  CHECK(end_of_drain(one, {objects[5]}).status == 11);
  CHECK(other.fill(8) == objects);
  CHECK(end_of_drain(one, {objects[5]}).status == 12);
  CHECK(end_of_drain(other, {objects[5]}).status == 0);
}

TEST_CASE("a drain finds a pointer that is no object's start") {
  LoneArea area(96, 64);
  const std::vector<uintptr_t> objects = area.fill(100);
  for (const uintptr_t off : {1, 8, 16, 48, 95}) {
    CHECK(end_of_drain(area, {objects[50] + off}).status == 12);
  }
  // The rest behind the last object of a slab, slabs never used, and addresses of nobody.
  CHECK(end_of_drain(area, {area.object(0, area.per_slab())}).status == 12);
  CHECK(end_of_drain(area, {area.object(area.slabs() - 1, 0)}).status == 12);
  CHECK(end_of_drain(area, {area.object(area.slabs(), 0)}).status == 12);
  CHECK(end_of_drain(area, {area.pool->base()}).status == 12);
  CHECK(end_of_drain(area, {area.pool->base() - 96}).status == 12);
  CHECK(end_of_drain(area, {1}).status == 12);
}

TEST_CASE("misuse aborts when no handler was set") {
  LoneArea area(64, 64);
  const std::vector<uintptr_t> objects = area.fill(1);
  const auto ending = end_of_child([&] {
    misuse_handler = nullptr;
    area.drain({objects[0], objects[0]});
    return 0;
  });
  CHECK(ending.signal == SIGABRT);
}

TEST_CASE("the misuse handler is told the pointer and the class") {
  static uintptr_t expected;
  LoneArea area(592, 64);
  expected = area.fill(1).front() + 4;
  const auto ending = end_of_child([&] {
    misuse_handler = [](Misuse misuse, uintptr_t pointer, size_t object_bytes) {
      const bool right =
          misuse == Misuse::kNotAnObject && pointer == expected && object_bytes == 592;
      _exit(right ? 42 : 43);
    };
    area.drain({expected});
    return 0;
  });
  CHECK(ending.status == 42);
}

TEST_CASE("counts of an area agree with what was done") {
  LoneArea area(kUnit / 32, 256);
  area.fill(1000);
  std::vector<uintptr_t> back;
  for (uint32_t slab = 0; slab < 9; ++slab) {
    for (const uintptr_t object : area.slab(slab)) back.push_back(object);
  }
  for (uint32_t n = 0; n < 12; ++n) back.push_back(area.nth(20, n));
  area.drain(back);
  const AreaStatistics s = area->statistics();
  CHECK(s.filled == 1000);
  CHECK(s.drained == 300);
  CHECK(s.fills == 1);
  CHECK(s.drains == 1);
  CHECK(s.slabs == 23);
  CHECK(s.free_objects == 23 * 32 - 700);
  CHECK(s.empty_slabs == 0);
  CHECK(area.pool->empty_units() == 9);
}

TEST_CASE("objects of all sizes, in slabs of one unit and of many, come and go over many words") {
  for (const size_t bytes : {16, 64, 1024, 9216, 20480, 65536}) {
    LoneArea area(bytes, 300);
    CAPTURE(bytes);
    const std::vector<uintptr_t> all = area.fill(area.capacity());
    CHECK(std::set<uintptr_t>(all.begin(), all.end()).size() == area.capacity());
    area.drain({all.begin() + 1, all.end()});
    CHECK(area->statistics().slabs == 1);
    CHECK(area.pool->empty_units() == (area.slabs() - 1) * area.shape().units);
    CHECK(area.fill(area.capacity()).size() == area.capacity() - 1);
  }
}

TEST_CASE("a refused slab costs nothing: the fill is short and the next one works") {
  const auto ending = end_of_child([] {
    LoneArea area(4096, 4096);
    const uint32_t quarter = area.capacity() / 4;
    if (area.fill(quarter).size() != quarter) return 1;
    std::vector<uintptr_t> slots(area.capacity());
    limit_to(RLIMIT_DATA, process_bytes("VmData"), 0);
    // What is mapped already is still to be had, and no more.
    const uint32_t got = area->fill(slots.data(), area.capacity());
    if (got == area.capacity() - quarter) return 2;
    if (area->fill(slots.data(), 1) != 0) return 3;
    if (area->statistics().filled != quarter + got) return 4;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    const uint32_t rest = area->fill(slots.data(), area.capacity());
    if (rest != area.capacity() - quarter - got) return 5;
    return area->statistics().free_objects == 0 ? 0 : 6;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("an address leads to its object, unless its slab is not the class's") {
  LoneArea area(1536, 64);
  CHECK(area->object_at(area.object(0, 0)) == 0);
  area.fill(1);
  CHECK(area->object_at(area.object(0, 0)) == area.object(0, 0));
  CHECK(area->object_at(area.object(0, 7) + 1535) == area.object(0, 7));
  CHECK(area->object_at(area.object(0, area.per_slab())) == 0);  // behind the last one
  CHECK(area->object_at(area.object(1, 0)) == 0);
}
