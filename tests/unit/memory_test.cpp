// SPDX-License-Identifier: MIT
#include "sizeclass/base/memory.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tests/unit/child.h"
#include "tests/unit/reservation.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

TEST_CASE("reserved pages cannot be touched until they are committed") {
  const Reservation space(memory::page_bytes() * 2);
  const auto touched = end_of_child([&] {
    static_cast<volatile char*>(space.start())[0] = 1;
    return 0;
  });
  CHECK(touched.status != 0);
  REQUIRE(memory::commit(space.start(), memory::page_bytes()));
  space.start()[0] = 1;
  const auto beyond = end_of_child([&] {
    static_cast<volatile char*>(space.start())[memory::page_bytes()] = 1;
    return 0;
  });
  CHECK(beyond.status != 0);
}

TEST_CASE("committed pages are zero, and zero again after a purge") {
  const size_t bytes = memory::page_bytes() * 16;
  Reservation space(bytes);
  space.commit();
  const auto is_zero = [&] {
    for (size_t i = 0; i < bytes; ++i) {
      if (space.start()[i] != 0) return false;
    }
    return true;
  };
  CHECK(is_zero());
  memset(space.start(), 0xab, bytes);
  CHECK(memory::resident_bytes(space.start(), bytes) == bytes);
  memory::purge(space.start(), bytes);
  CHECK(memory::resident_bytes(space.start(), bytes) == 0);
  CHECK(is_zero());
  space.start()[bytes - 1] = 1;
}

TEST_CASE("resident bytes are counted page by page, over any length") {
  const size_t page = memory::page_bytes();
  Reservation space(page * 3000);
  space.commit();
  madvise(space.start(), space.bytes(), MADV_NOHUGEPAGE);
  CHECK(memory::resident_bytes(space.start(), space.bytes()) == 0);
  for (const size_t n : {0, 1023, 1024, 2999}) space.start()[n * page] = 1;
  CHECK(memory::resident_bytes(space.start(), space.bytes()) == 4 * page);
  CHECK(memory::resident_bytes(space.start(), page) == page);
}

TEST_CASE("what the system refuses is told by the answer, and errno is kept") {
  errno = 77;
  CHECK(map_lazily(size_t{1} << 62) == nullptr);
  void* nobody = nullptr;
  {
    const Reservation gone(memory::page_bytes());
    nobody = gone.start();
  }
  CHECK_FALSE(memory::commit(nobody, memory::page_bytes()));
  memory::purge(nobody, memory::page_bytes());
  CHECK(memory::resident_bytes(nobody, memory::page_bytes()) == 0);
  CHECK(errno == 77);
}

TEST_CASE("a commit beyond the data limit is refused and can be had once the limit is lifted") {
  const auto ending = end_of_child([] {
    Reservation space(size_t{64} << 20);
    limit_to(RLIMIT_DATA, process_bytes("VmData"), size_t{8} << 20);
    if (memory::commit(space.start(), space.bytes())) return 1;
    if (!memory::commit(space.start(), size_t{1} << 20)) return 2;
    space.start()[0] = 1;
    limit_to(RLIMIT_DATA, 0, ~size_t{0});
    if (!memory::commit(space.start(), space.bytes())) return 3;
    return space.start()[0] == 1 ? 0 : 4;
  });
  CHECK(ending.status == 0);
}
