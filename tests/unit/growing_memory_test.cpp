// SPDX-License-Identifier: MIT
#include "sizeclass/base/growing_memory.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace pktmalloc;

TEST_CASE("a stretch grows and shrinks in place, in whole pages, and new ones are zero") {
  const size_t page = memory::page_bytes();
  GrowingMemory stretch;
  stretch.start(memory::find_room(64 * page, page, page, page), 64 * page, true, page);
  CHECK(stretch.bytes() == page);
  REQUIRE(stretch.grow_to(1));
  CHECK(stretch.bytes() == page);
  REQUIRE(stretch.grow_to(10 * page));
  memset(stretch.at(0), 1, 10 * page);
  CHECK(stretch.grow_to(5 * page));
  CHECK(stretch.bytes() == 10 * page);
  CHECK_FALSE(stretch.grow_to(64 * page + 1));
  stretch.shrink_to(4 * page + 1);
  CHECK(stretch.bytes() == 5 * page);
  REQUIRE(stretch.grow_to(64 * page));
  CHECK(*stretch.at(5 * page - 1) == 1);
  CHECK(*stretch.at(5 * page) == 0);
  stretch.shrink_to(0);
  CHECK(stretch.bytes() == 0);
}

TEST_CASE("a stretch stops at what somebody else has, and grows on when that is gone") {
  const size_t page = memory::page_bytes();
  GrowingMemory stretch;
  stretch.start(memory::find_room(64 * page, page, page, page), 64 * page, true, page);
  REQUIRE(stretch.grow_to(8 * page));
  void* const other = mmap(stretch.at(20 * page), page, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  REQUIRE(other == static_cast<void*>(stretch.at(20 * page)));
  CHECK_FALSE(stretch.grow_to(30 * page));
  CHECK(stretch.bytes() == 8 * page);
  CHECK(stretch.grow_to(20 * page));
  munmap(other, page);
  CHECK(stretch.grow_to(30 * page));
  stretch.shrink_to(0);
}
