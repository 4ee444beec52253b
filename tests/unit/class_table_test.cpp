// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/class_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace pktmalloc;

namespace {

constexpr size_t kLimit = size_t{256} << 10;  // of the default classes

ClassTable default_table() {
  ClassTable table;
  table.use_default();
  return table;
}

ClassTable table_of(const std::vector<size_t>& sizes) {
  ClassTable table;
  table.use_list(sizes.data(), static_cast<unsigned>(sizes.size()));
  return table;
}

std::vector<size_t> sizes_in(const ClassTable& table) {
  std::vector<size_t> sizes;
  for (const ClassId id : table.ids()) sizes.push_back(table[id].object_bytes);
  return sizes;
}

// The smallest class that fits and suits, by trying all.
ClassId by_trying(const ClassTable& table, size_t bytes, size_t alignment) {
  for (const ClassId id : table.ids()) {
    if (table[id].object_bytes >= bytes && table[id].alignment() >= alignment) return id;
  }
  return kNoClass;
}

}  // namespace

TEST_CASE("every size up to 256 KiB finds the smallest class that fits") {
  const ClassTable table = default_table();
  unsigned smallest = 1;
  size_t wrong = 0;
  for (size_t bytes = 0; bytes <= kLimit; ++bytes) {
    if (table[ClassId(smallest)].object_bytes < bytes) ++smallest;
    const ClassId found = table.find(bytes);
    wrong += index(found) != smallest;
    if (bytes <= ClassTable::kSmallLimit) wrong += table.small(bytes) != found;
  }
  CHECK(wrong == 0);
  CHECK(smallest == table.count());
  CHECK(table.find(kLimit + 1) == kNoClass);
  CHECK(table.find(~size_t{0}) == kNoClass);
}

TEST_CASE("the default classes ascend, leave one number free and hold the packet sizes") {
  const std::vector<size_t> sizes = sizes_in(default_table());
  CHECK(std::is_sorted(sizes.begin(), sizes.end()));
  CHECK(std::adjacent_find(sizes.begin(), sizes.end()) == sizes.end());
  CHECK(sizes.size() < kMaxClasses);
  for (const size_t packet : {1088, 1600, 2176, 4416, 9216}) {
    CHECK(std::binary_search(sizes.begin(), sizes.end(), packet));
  }
  CHECK(sizes.back() == kLimit);
}

TEST_CASE("rounding to a default class loses at most a fifth of the object") {
  const ClassTable table = default_table();
  size_t wrong = 0;
  for (size_t bytes = 129; bytes <= kLimit; ++bytes) {
    const size_t object = table[table.find(bytes)].object_bytes;
    wrong += (object - bytes) * 5 > object;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a slab holds at least four objects and wastes under 3 % and a page a unit") {
  for (const unsigned shift : {14U, 16U}) {
    for (const size_t bytes : sizes_in(default_table())) {
      const SizeClass c = ClassTable::describe(bytes, shift);
      CAPTURE(c.object_bytes, shift);
      const auto slab = [&](size_t units) { return units << shift; };
      const auto lost = [&](size_t units) {
        const size_t rest = slab(units) % c.object_bytes, pages = std::min(rest / 4096, units);
        return static_cast<double>(rest - pages * 4096) / static_cast<double>(slab(units));
      };
      CHECK(c.objects_per_slab == slab(c.units) / c.object_bytes);
      CHECK(c.objects_per_slab >= 4);
      const size_t least = (4 * size_t{c.object_bytes} + slab(1) - 1) / slab(1);
      CHECK(c.units <= std::max<size_t>(16, least));
      CHECK(c.units <= 64);
      for (size_t units = least; units < c.units; ++units) CHECK(lost(units) >= 0.03);
      if (lost(c.units) < 0.03) continue;
      for (size_t units = c.units; units <= 16; ++units) CHECK(lost(units) >= lost(c.units));
    }
  }
  CHECK(ClassTable::describe(40960, 16).units == 4);
  CHECK(ClassTable::describe(5120, 16).units == 1);
  CHECK(ClassTable::describe(5632, 16).units == 2);
  CHECK(ClassTable::describe(size_t{1} << 20, 16).units == 64);
}

TEST_CASE("magazines are bounded in rounds and bytes and start very small") {
  const ClassTable table = default_table();
  for (const ClassId id : table.ids()) {
    const SizeClass& c = table[id];
    CAPTURE(c.object_bytes);
    CHECK(c.largest_rounds >= 1);
    CHECK(c.largest_rounds <= ClassTable::kRoundsLimit);
    CHECK(size_t{c.largest_rounds} * c.object_bytes <= ClassTable::kMagazineBytesLimit);
    CHECK(c.first_rounds >= 1);
    CHECK(c.first_rounds <= c.largest_rounds);
    CHECK(c.first_rounds == std::max(1, c.largest_rounds / 128));
    CHECK((c.object_bytes >= 64 || c.sharers * c.object_bytes % 64 == 0));
  }
}

TEST_CASE("the object index is exact for every object of every class, from first byte to last") {
  const auto wrong = [](const SizeClass& c, unsigned shift) {
    size_t count = 0;
    for (uint64_t n = 0; n < c.objects_per_slab; ++n) {
      const uint64_t start = n * c.object_bytes;
      for (const uint64_t inside : {uint64_t{0}, uint64_t{1}, uint64_t{c.object_bytes} - 1}) {
        count += c.object_index(start + inside) != n;
      }
    }
    for (uint64_t offset = uint64_t{c.objects_per_slab} * c.object_bytes;
         offset < uint64_t{c.units} << shift; ++offset) {
      count += c.object_index(offset) < c.objects_per_slab;
    }
    return count;
  };
  for (const unsigned shift : {14U, 16U}) {
    for (const size_t bytes : sizes_in(default_table())) {
      CAPTURE(bytes);
      CHECK(wrong(ClassTable::describe(bytes, shift), shift) == 0);
    }
  }
  size_t in_all = 0;
  for (size_t bytes = 16; bytes <= 32768; bytes += 16) {
    in_all += wrong(ClassTable::describe(bytes, 16), 16);
  }
  for (size_t bytes = 36864; bytes <= kLimit; bytes += 4096) {
    in_all += wrong(ClassTable::describe(bytes, 16), 16);
  }
  CHECK(in_all == 0);
}

TEST_CASE("every class promises 16 bytes, and cache lines where the size is a multiple of them") {
  const ClassTable table = default_table();
  for (const ClassId id : table.ids()) {
    CAPTURE(table[id].object_bytes);
    CHECK(table[id].alignment() >= 16);
    CHECK(table[id].object_bytes % table[id].alignment() == 0);
    if (table[id].object_bytes % 64 == 0) CHECK(table[id].alignment() >= 64);
  }
}

TEST_CASE("an aligned request finds the smallest class that fits and is aligned") {
  const ClassTable table = default_table();
  size_t wrong = 0;
  for (size_t alignment = 1; alignment <= 2 * kLimit; alignment *= 2) {
    for (size_t bytes = 0; bytes <= kLimit + 4096; bytes += bytes < 40000 ? 1 : 499) {
      wrong += table.find_aligned(bytes, alignment) != by_trying(table, bytes, alignment);
    }
  }
  CHECK(wrong == 0);
  CHECK(table.find_aligned(~size_t{0}, 16) == kNoClass);
  CHECK(table.find_aligned(~size_t{0}, 4096) == kNoClass);
  CHECK(table.find_aligned(16, size_t{1} << 63) == kNoClass);
}

TEST_CASE("a custom class serves requests that fill at least half of it, in steps of the lookup") {
  const ClassTable table = table_of({64, 1536, 65536});
  size_t wrong = 0;
  for (size_t bytes = 0; bytes <= kLimit; ++bytes) {
    const size_t step =
        bytes <= ClassTable::kSmallLimit ? ClassTable::kSmallStep : ClassTable::kMediumStep;
    const size_t stepped = std::max<size_t>((bytes + step - 1) / step * step, 16);
    const size_t wanted = stepped <= 64      ? 64
                          : stepped <= 1536  ? 1536
                          : stepped <= 65536 ? 65536
                                             : 0;
    const ClassId found = table.find(bytes);
    if (wanted == 0 || stepped * 2 < wanted) {
      wrong += found != kNoClass;
    } else {
      wrong += found == kNoClass || table[found].object_bytes != wanted;
    }
  }
  CHECK(wrong == 0);
  CHECK(table.find(16) == kNoClass);
  CHECK(table.find(32) == ClassId{1});
  CHECK(table.find(64) == ClassId{1});
  CHECK(table.find(65) == kNoClass);
  CHECK(table.find(768) == ClassId{2});
  CHECK(table.find(32768) == ClassId{3});
}

TEST_CASE("the half-full rule holds for aligned requests too") {
  const ClassTable table = table_of({144, 65536});
  REQUIRE(table.find(128) == ClassId{1});
  CHECK(table.find_aligned(128, 16) == ClassId{1});
  CHECK(table.find_aligned(128, 128) == kNoClass);
  CHECK(table.find_aligned(40000, 4096) == ClassId{2});
  // What is filled is the request rounded up to its alignment.
  CHECK(table.find(100) == ClassId{1});
  CHECK(table.find(20000) == kNoClass);
  CHECK(table.find_aligned(20000, 32768) == ClassId{2});
}

TEST_CASE("custom sizes are rounded up to the lookup step and never listed twice") {
  CHECK(sizes_in(table_of({0, 1, 16, 17, 30, 32, 100})) == std::vector<size_t>{16, 32, 112});
  CHECK(sizes_in(table_of({1536, 1536, 1537})) == std::vector<size_t>{1536, 1552});
  CHECK(sizes_in(table_of({32768, 32769, 36864, 40000})) ==
        std::vector<size_t>{32768, 36864, 40960});
  CHECK(sizes_in(table_of({kLimit})) == std::vector<size_t>{kLimit});
}

TEST_CASE("a custom list has as many classes as there are numbers") {
  std::vector<size_t> sizes;
  for (size_t n = 1; n <= 100; ++n) sizes.push_back(n * 16);
  const ClassTable table = table_of(sizes);
  CHECK(table.count() == kMaxClasses - 1);
  CHECK(table.find(63 * 16) == ClassId{63});
  CHECK(table.find(64 * 16) == kNoClass);
}

TEST_CASE("an empty list pools nothing") {
  const ClassTable table = table_of({});
  CHECK(table.count() == 0);
  for (const size_t bytes : {size_t{0}, size_t{16}, size_t{32768}, kLimit}) {
    CHECK(table.find(bytes) == kNoClass);
    CHECK(table.find_aligned(bytes, 64) == kNoClass);
  }
}

TEST_CASE("a list replaces the table that was there") {
  ClassTable table = default_table();
  const size_t only = 64;
  table.use_list(&only, 1);
  CHECK(table.count() == 1);
  CHECK(table.find(1536) == kNoClass);
  CHECK(table.find(100000) == kNoClass);
  table.use_default();
  CHECK(table.find(1536) != kNoClass);
}
