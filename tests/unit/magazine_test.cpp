// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine.h"

#include <catch2/catch.hpp>

#include "tests/unit/magazine_rack.h"

using namespace pktmalloc;
using pktmalloc::test::MagazineRack;

namespace {

unsigned full_marks(Magazine& magazine) {
  unsigned marks = 0;
  for (uint32_t n = 0; n < rounds_of_size(magazine.size) + 2; ++n) {
    marks += magazine.slots()[n] == kFullMark;
  }
  return marks;
}

}  // namespace

TEST_CASE("a magazine size is the smallest that holds the rounds") {
  for (uint32_t rounds = 1; rounds <= rounds_of_size(kMagazineSizes - 1); ++rounds) {
    const uint8_t size = size_for_rounds(rounds);
    CHECK(rounds_of_size(size) >= rounds);
    if (size > 0) CHECK(rounds_of_size(size - 1U) < rounds);
  }
}

TEST_CASE("magazines take whole cache lines") {
  for (unsigned size = 0; size < kMagazineSizes; ++size) {
    CHECK(bytes_of_size(size) % 64 == 0);
    CHECK(bytes_of_size(size) >= sizeof(Magazine) + (rounds_of_size(size) + 2) * sizeof(uintptr_t));
  }
}

TEST_CASE("a change of capacity leaves one full mark, behind the last usable slot") {
  for (unsigned size = 0; size < kMagazineSizes; ++size) {
    MagazineRack rack(1, size);
    Magazine& magazine = *rack[0];
    for (const uint32_t capacity : {2U, 16U, 3U, 15U, rounds_of_size(size), 1U}) {
      magazine.set_capacity(capacity);
      CAPTURE(size, capacity);
      CHECK(magazine.capacity == capacity);
      CHECK(magazine.slots()[capacity + 1] == kFullMark);
      CHECK(full_marks(magazine) == 1);
      CHECK(magazine.slots()[0] == kEmptyMark);
    }
  }
}

TEST_CASE("the top of a magazine is its last round, and slot 0 when it is empty") {
  MagazineRack rack(1);
  Magazine& magazine = *rack[0];
  magazine.rounds = 0;
  CHECK(magazine.top() == magazine.slots());
  CHECK(*magazine.top() == kEmptyMark);
  magazine.objects()[0] = 0x1000;
  magazine.objects()[1] = 0x2000;
  magazine.rounds = 2;
  CHECK(*magazine.top() == 0x2000);
}
