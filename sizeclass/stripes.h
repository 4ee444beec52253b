// SPDX-License-Identifier: MIT
// Stripes: shares a reservation among areas so that the used parts of all lie close together.
//
//     address - base =  | stripe | area | offset in piece |
//
// An area's piece in each stripe is 1 << piece_shift bytes (area_place.h). While a program uses no
// more than a piece of each class, all its objects lie in one stripe, 4 GiB with the default
// geometry, and the upper levels of its page table take few pages. Constant after start; any
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sizeclass/area_place.h"
#include "sizeclass/memory.h"

namespace pktmalloc {

struct Stripes {
  uintptr_t base;
  unsigned piece_shift;
  unsigned areas_shift;  // 1 << areas_shift areas
  uint32_t count;

  unsigned stripe_shift() const { return piece_shift + areas_shift; }
  size_t bytes() const { return size_t{count} << stripe_shift(); }
  size_t area_bytes() const { return size_t{count} << piece_shift; }

  // `alignment` of objects, a power of two: the colour is a multiple of it.
  AreaPlace place(unsigned area, unsigned slab_shift, size_t alignment) const {
    const size_t piece = size_t{1} << piece_shift;
    return {base + area * piece, piece, stripe_shift(), count, colour(area, alignment), slab_shift};
  }

 private:
  // 17 pages apart: translation buffers choose a set by the lowest 4 to 7 bits of a page's number,
  // and a cache line holds 8 page table entries. Being odd, 17 visits every set before it repeats
  // one, and neighbours never share a line. Up to a sixteenth of the piece. A nonzero colour is
  // never touched and separates an overflowing area from the next one.
  size_t colour(unsigned area, size_t alignment) const {
    const size_t page = memory::page_bytes();
    const size_t most = (size_t{1} << piece_shift) / 16;
    const size_t step = std::max(alignment, page);
    if (area == 0 || step > most) return 0;
    return std::max(size_t{area} * 17 * page % most / step * step, step);
  }
};

}  // namespace pktmalloc
