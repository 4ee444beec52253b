// SPDX-License-Identifier: MIT
#include "sizeclass/stripes.h"

#include <catch2/catch.hpp>
#include <set>

using namespace pktmalloc;

namespace {

constexpr uintptr_t kBase = uintptr_t{1} << 40;
const Stripes kStripes{kBase, 24, 6, 8};  // as the heap has them, but for their number

unsigned area_of(uintptr_t address) { return static_cast<unsigned>((address - kBase) >> 24) % 64; }

}  // namespace

TEST_CASE("a slab is found by every address in it, and by none outside") {
  for (const unsigned slab_shift : {16U, 20U, 22U}) {
    for (const unsigned area : {0U, 1U, 17U, 62U}) {
      CAPTURE(slab_shift, area);
      const AreaPlace place = kStripes.place(area, slab_shift, 16);
      const uintptr_t bytes = uintptr_t{1} << slab_shift;
      unsigned wrong = 0;
      for (uint32_t slab = 0; slab < place.slabs(); ++slab) {
        const uintptr_t start = place.start_of(slab);
        for (const uintptr_t offset : {uintptr_t{0}, bytes / 2 + 3, bytes - 1}) {
          const AreaPlace::Slot found = place.find(start + offset);
          wrong += found.slab != slab || found.offset != offset || area_of(start + offset) != area;
        }
        if (slab == place.piece_begin(slab)) wrong += place.find(start - 1).slab < place.slabs();
        if (slab + 1 == place.piece_end(slab)) {
          wrong += place.find(start + bytes).slab < place.slabs();
        } else {
          wrong += place.start_of(slab + 1) != start + bytes;
        }
      }
      CHECK(wrong == 0);
      for (const uintptr_t address : {uintptr_t{0}, uintptr_t{4096}, kBase - 1, ~uintptr_t{0},
                                      kBase + kStripes.bytes(), kBase + 2 * kStripes.bytes()}) {
        CHECK(place.find(address).slab >= place.slabs());
      }
    }
  }
}

TEST_CASE("no two areas begin in the same set of a translation buffer of 64 sets and more") {
  for (const unsigned sets : {64U, 128U, 256U}) {
    std::set<uintptr_t> seen;
    for (unsigned area = 0; area < 63; ++area) {
      seen.insert(kStripes.place(area, 16, 16).start_of(0) / memory::page_bytes() % sets);
    }
    CHECK(seen.size() == 63);
  }
}

TEST_CASE("an area begins where its objects are aligned, and behind a page that is nobody's") {
  for (const size_t alignment : {16, 4096, 8192, 65536, 262144, 1048576}) {
    for (unsigned area = 0; area < 63; ++area) {
      const uintptr_t start = kStripes.place(area, 20, alignment).start_of(0);
      CHECK(start % alignment == 0);
      if (area > 0) CHECK(start > kBase + (uintptr_t{area} << 24));
    }
  }
}
