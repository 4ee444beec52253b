// SPDX-License-Identifier: MIT
#include "sizeclass/slab_area.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <set>

#include "sizeclass/memory.h"
#include "sizeclass/misuse.h"
#include "tests/unit/child.h"
#include "tests/unit/lone_area.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

const size_t kPage = memory::page_bytes();

constexpr size_t kMiB = size_t{1} << 20;

// The exit status of a child that drains these objects and has its misuse told by exit.
Ending end_of_drain(LoneArea& area, const std::vector<uintptr_t>& objects) {
  return end_of_child([&] {
    set_misuse_handler(
        [](Misuse misuse, uintptr_t, size_t) { _exit(misuse == Misuse::kDoubleFree ? 11 : 12); });
    area.drain(objects);
    return 0;
  });
}

}  // namespace

TEST_CASE("a new area hands out its objects in ascending order when popped") {
  for (const size_t bytes : {16, 48, 592, 1536, 9216, 65536}) {
    LoneArea area(bytes, 4 * kMiB);
    CAPTURE(bytes);
    const std::vector<uintptr_t> objects = area.fill(area.capacity());
    REQUIRE(objects.size() == area.capacity());
    CHECK(std::is_sorted(objects.begin(), objects.end()));
    CHECK(std::adjacent_find(objects.begin(), objects.end()) == objects.end());
    uint32_t wrong = 0;
    for (uint32_t n = 0; n < objects.size(); ++n) {
      wrong += objects[n] != area.object(n / area.per_slab(), n % area.per_slab());
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an exhausted area gives what it has, then nothing, and serves again after a drain") {
  LoneArea area(64, 16 * kPage);
  const std::vector<uintptr_t> most = area.fill(area.capacity() - 10);
  const std::vector<uintptr_t> rest = area.fill(100);
  CHECK(rest.size() == 10);
  CHECK(std::is_sorted(rest.begin(), rest.end()));
  CHECK(area.fill(1).empty());
  CHECK(area->statistics().free_objects == 0);
  area.drain({most[3]});
  CHECK(area.fill(5) == std::vector<uintptr_t>{most[3]});
}

TEST_CASE("objects come from partial slabs first, at the lowest address") {
  LoneArea area(kPage / 8, 64 * kPage);  // 8 objects a slab
  const std::vector<uintptr_t> objects = area.fill(8 * 10);
  // Slab 2 becomes empty; slabs 5 and 7 partial.
  std::vector<uintptr_t> back(objects.begin() + 16, objects.begin() + 24);
  back.push_back(area.object(7, 1));
  back.push_back(area.object(5, 6));
  back.push_back(area.object(5, 3));
  area.drain(back);
  CHECK(area->statistics().empty_slabs == 1);
  CHECK(area.fill(5) == std::vector<uintptr_t>{area.object(5, 3), area.object(5, 6),
                                               area.object(7, 1), area.object(2, 0),
                                               area.object(2, 1)});
}

TEST_CASE("purged slabs are taken after empty ones and before fresh ones") {
  LoneArea area(kPage / 4, 64 * kPage);  // 4 objects a slab
  const std::vector<uintptr_t> objects = area.fill(4 * 4);
  area.drain(objects);
  CHECK(area->purge_some(2) == 2);
  AreaStatistics s = area->statistics();
  CHECK(s.empty_slabs == 2);
  CHECK(s.purged_slabs == 2);
  CHECK(s.used_slabs == 4);
  CHECK(s.free_objects == 8);
  CHECK(area.fill(20) == [&] {
    std::vector<uintptr_t> expected = objects;
    for (uint32_t n = 0; n < 4; ++n) expected.push_back(area.object(4, n));
    return expected;
  }());
  s = area->statistics();
  CHECK(s.purged_slabs == 0);
  CHECK(s.used_slabs == 5);
}

TEST_CASE("a purge takes one run of adjacent empty slabs, from the top") {
  LoneArea area(kPage / 4, 64 * kPage);
  const std::vector<uintptr_t> objects = area.fill(4 * 10);
  std::vector<uintptr_t> back;
  for (const uint32_t slab : {1, 2, 3, 6, 8, 9}) {
    for (uint32_t n = 0; n < 4; ++n) back.push_back(area.object(slab, n));
  }
  area.drain(back);
  CHECK(area->empty_slabs() == 6);
  CHECK(area->purge_some(0) == 0);
  CHECK(area->purge_some(100) == 2);
  CHECK(area->purge_some(100) == 1);
  CHECK(area->purge_some(2) == 2);
  CHECK(area->empty_slabs() == 1);
  CHECK(area->purge_some(2) == 1);
  CHECK(area->purge_some(2) == 0);
  const AreaStatistics s = area->statistics();
  CHECK(s.purges == 4);
  CHECK(s.purged_slabs == 6);
  CHECK(s.purged_total_bytes == 6 * kPage);
  CHECK(s.free_objects == 0);
}

TEST_CASE("purged memory leaves the process, memory in use stays as it was") {
  LoneArea area(kPage, 64 * 4 * kPage);  // 4 pages a slab
  const std::vector<uintptr_t> objects = area.fill(4 * 8);
  for (const uintptr_t object : objects) memset(reinterpret_cast<void*>(object), 0x5a, kPage);
  const auto resident = [&] {
    return memory::resident_bytes(reinterpret_cast<void*>(area.base()), 8 * 4 * kPage);
  };
  CHECK(resident() == 8 * 4 * kPage);
  area.drain({objects.begin() + 4, objects.end()});
  CHECK(area->purge_some(100) == 7);
  CHECK(resident() == 4 * kPage);
  for (uint32_t n = 0; n < 4; ++n) {
    CHECK(*reinterpret_cast<const unsigned char*>(area.object(0, n) + kPage - 1) == 0x5a);
  }
  CHECK(area.fill(1).front() == area.object(1, 0));
  CHECK(*reinterpret_cast<const unsigned char*>(area.object(1, 0)) == 0);
}

TEST_CASE("a drain finds an object that is free already") {
  LoneArea area(96, kMiB);
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

TEST_CASE("a drain finds an object of a purged slab") {
  LoneArea area(kPage / 4, 64 * kPage);
  const std::vector<uintptr_t> objects = area.fill(8);
  area.drain(objects);
  REQUIRE(area->purge_some(2) == 2);
  CHECK(end_of_drain(area, {objects[5]}).status == 11);
}

TEST_CASE("a drain finds a pointer that is no object's start") {
  LoneArea area(96, kMiB);
  const std::vector<uintptr_t> objects = area.fill(100);
  for (const uintptr_t off : {1, 8, 16, 48, 95}) {
    CHECK(end_of_drain(area, {objects[50] + off}).status == 12);
  }
  // The rest behind the last object of a slab, slabs never used, and addresses of nobody.
  CHECK(end_of_drain(area, {area.object(0, area.per_slab())}).status == 12);
  CHECK(end_of_drain(area, {area.object(area.slabs() - 1, 0)}).status == 12);
  CHECK(end_of_drain(area, {area.base() + kMiB}).status == 12);
  CHECK(end_of_drain(area, {area.base() - 96}).status == 12);
  CHECK(end_of_drain(area, {1}).status == 12);
}

TEST_CASE("misuse aborts when no handler was set") {
  LoneArea area(64, kMiB);
  const std::vector<uintptr_t> objects = area.fill(1);
  const auto ending = end_of_child([&] {
    set_misuse_handler(nullptr);
    area.drain({objects[0], objects[0]});
    return 0;
  });
  CHECK(ending.signal == SIGABRT);
}

TEST_CASE("the misuse handler is told the pointer and the class") {
  static uintptr_t expected;
  LoneArea area(592, kMiB);
  expected = area.fill(1).front() + 4;
  const auto ending = end_of_child([&] {
    set_misuse_handler([](Misuse misuse, uintptr_t pointer, size_t object_bytes) {
      const bool right =
          misuse == Misuse::kNotAnObject && pointer == expected && object_bytes == 592;
      _exit(right ? 42 : 43);
    });
    area.drain({expected});
    return 0;
  });
  CHECK(ending.status == 42);
}

TEST_CASE("counts of an area agree with what was done") {
  LoneArea area(kPage / 32, 256 * kPage);
  const std::vector<uintptr_t> objects = area.fill(1000);
  area.drain({objects.begin(), objects.begin() + 300});
  const AreaStatistics s = area->statistics();
  CHECK(s.filled == 1000);
  CHECK(s.drained == 300);
  CHECK(s.fills == 1);
  CHECK(s.drains == 1);
  CHECK(s.used_slabs == 32);
  CHECK(s.free_objects == 32 * 32 - 700);
  CHECK(s.empty_slabs == 9);
  CHECK(s.committed_bytes >= s.used_slabs * kPage);
  CHECK(s.committed_bytes <= 256 * kPage);
}

TEST_CASE("slabs beyond the first 64 have their records committed as the area grows") {
  LoneArea area(16, 16 * kMiB);
  CHECK(area->statistics().record_bytes == 0);
  area.fill(64 * area.per_slab());
  CHECK(area->statistics().record_bytes == 0);
  const std::vector<uintptr_t> next = area.fill(1);
  CHECK(next.front() == area.object(64, 0));
  const uint64_t some = area->statistics().record_bytes;
  CHECK(some > 0);
  const std::vector<uintptr_t> rest = area.fill(area.capacity());
  CHECK(rest.size() == area.capacity() - 64 * area.per_slab() - 1);
  CHECK(area->statistics().record_bytes > some);
  area.drain(rest);
  CHECK(area->empty_slabs() == area.slabs() - 65);
}

TEST_CASE("an area of n slabs is committed in few steps") {
  LoneArea area(4096, size_t{256} << 20, 16);
  area.fill(area.capacity());
  const AreaStatistics s = area->statistics();
  CHECK(s.committed_bytes == size_t{256} << 20);
  CHECK(s.commits <= 40);
  LoneArea small(4096, size_t{256} << 20, 16);
  small.fill(1);
  CHECK(small->statistics().committed_bytes == size_t{256} << 10);
}

TEST_CASE("empty slabs that nobody needed for a window are reported by the tick") {
  LoneArea area(kPage / 4, 64 * kPage);
  const std::vector<uintptr_t> objects = area.fill(4 * 10);
  area.drain(objects);
  for (unsigned n = 0; n < LowWater::kTicks; ++n) {
    CHECK(area->tick() == 0);
    area.drain(area.fill(4 * 3));
  }
  CHECK(area->tick() == 7);
  CHECK(area->purge_some(7) == 7);
  CHECK(area->empty_slabs() == 3);
}

TEST_CASE("a refused commit costs nothing: the fill is short and the next one works") {
  const auto ending = end_of_child([] {
    LoneArea area(4096, size_t{64} << 20);
    const uint32_t quarter = area.capacity() / 4;
    if (area.fill(quarter).size() != quarter) return 1;
    const size_t now = process_bytes("VmData");
    const size_t committed = area->statistics().committed_bytes;
    std::vector<uintptr_t> slots(area.capacity());
    limit_to(RLIMIT_DATA, now, 0);
    // What is committed already is still to be had, and no more.
    const uint32_t got = area->fill(slots.data(), area.capacity());
    if (got != committed / 4096 - quarter) return 2;
    if (area->fill(slots.data(), 1) != 0) return 3;
    if (area->statistics().committed_bytes != committed) return 4;
    if (area->statistics().filled != quarter + got) return 5;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    const uint32_t rest = area->fill(slots.data(), area.capacity());
    if (rest != area.capacity() - quarter - got) return 6;
    return area->statistics().free_objects == 0 ? 0 : 7;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("a slab whose record is refused memory stays unused until it is granted") {
  const auto ending = end_of_child([] {
    for (const size_t bytes : {64, 2048, 4096, 8192, 16384}) {
      LoneArea area(bytes, 16 * kMiB);
      const uint32_t first = SlabSet::kInlineSlabs * area.per_slab();
      if (area.fill(first).size() != first) return 1;
      // Wanted: a next slab that is committed already, so that only its record needs memory.
      if (area->statistics().committed_bytes == SlabSet::kInlineSlabs * area->slab_bytes())
        continue;
      uintptr_t object = 0;
      limit_to(RLIMIT_DATA, process_bytes("VmData"), 0);
      if (area->fill(&object, 1) != 0) return 2;
      if (area->statistics().used_slabs != SlabSet::kInlineSlabs) return 3;
      limit_to(RLIMIT_DATA, 0, ~size_t{0});
      if (area->fill(&object, 1) != 1) return 4;
      return object == area.object(SlabSet::kInlineSlabs, 0) ? 0 : 5;
    }
    return 6;
  });
  CHECK(ending.status == 0);
}

TEST_CASE("under a tight limit a single slab is had where a step is refused") {
  const auto ending = end_of_child([] {
    LoneArea area(4096, size_t{64} << 20);  // slabs of 16 KiB, steps of 256 KiB
    std::vector<uintptr_t> slots(8);
    limit_to(RLIMIT_DATA, process_bytes("VmData"), size_t{128} << 10);
    if (area->fill(slots.data(), 8) != 8) return 1;
    return area->statistics().committed_bytes == 2 * 16384 ? 0 : 2;
  });
  CHECK(ending.status == 0);
}

TEST_CASE(
    "an address leads to its object, unless its slab was never used or it is behind the last") {
  LoneArea area(1536, 4 * kMiB);
  CHECK(area->object_at(area.object(0, 0)) == 0);
  area.fill(1);
  CHECK(area->object_at(area.object(0, 0)) == area.object(0, 0));
  CHECK(area->object_at(area.object(0, 7) + 1535) == area.object(0, 7));
  CHECK(area->object_at(area.object(0, area.per_slab())) == 0);
  CHECK(area->object_at(area.object(1, 0)) == 0);
  std::vector<uintptr_t> visited;
  area->each_object([&](uintptr_t object) { visited.push_back(object); });
  REQUIRE(visited.size() == area.per_slab());
  CHECK(visited.front() == area.object(0, 0));
  CHECK(visited.back() == area.object(0, area.per_slab() - 1));
}
