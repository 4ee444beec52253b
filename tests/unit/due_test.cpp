// SPDX-License-Identifier: MIT
#include "sizeclass/heap/due.h"

#include <catch2/catch.hpp>

using namespace pktmalloc;

TEST_CASE("a byte from outside calls a thread, until it answers") {
  Due due;
  due.tell_at(~uint64_t{0});
  due.end_tick();
  const uint64_t seen = Due::seen_at(due.word());
  CHECK(!due.is_time());
  CHECK(due.word() == seen);
  CHECK(!due.is_called());
  *reinterpret_cast<volatile uint8_t*>(due.caller()) = 1;
  CHECK(due.is_called());
  CHECK(due.word() != seen);
  CHECK(due.word() != Due::seen_at(due.word()));
  CHECK(due.tick() == 1);
  CHECK(!due.is_always());
  due.end_tick();
  CHECK(due.tick() == 2);
  due.answer();
  CHECK(!due.is_called());
  CHECK(due.word() == Due::seen_at(due.word()));
  due.tell_always();
  CHECK(due.is_always());
  CHECK(!due.is_called());
  CHECK(*reinterpret_cast<volatile uint8_t*>(due.caller()) == 0);
  due.tell_at(0);
  CHECK(due.is_time());
}
