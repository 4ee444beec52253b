// SPDX-License-Identifier: MIT
// AreaPlace: where the slabs of an area lie.
//
// Slabs are numbered without gaps. They lie one after the other in pieces; the n-th pieces of all
// areas form a stripe:
//
//     | stripe 0: area 0, area 1, ... area 63 | stripe 1: area 0, ...
//          piece: | colour | slab 0 | slab 1 | ... | rest |
//
// So the memory that a small program uses lies close together, whatever the class, and few pages of
// page tables map it. The colour is a distance that differs between areas: without it the n-th page
// of every area would fall into the same set of each translation buffer (slab colouring, Bonwick
// 1994). Constant after construction; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

class AreaPlace {
 public:
  constexpr AreaPlace() = default;

  // `stripes` pieces of `piece_bytes`, the first at `base`, each 1 << stripe_shift bytes after the
  // one before.
  AreaPlace(uintptr_t base, size_t piece_bytes, unsigned stripe_shift, uint32_t stripes,
            size_t colour, unsigned slab_shift)
      : base_(base + colour),
        slab_shift_(slab_shift),
        stripe_shift_(stripe_shift),
        slabs_in_piece_(static_cast<uint32_t>((piece_bytes - colour) >> slab_shift)),
        slabs_(slabs_in_piece_ * stripes) {}

  uint32_t slabs() const { return slabs_; }

  uintptr_t start_of(uint32_t slab) const {
    return base_ + (uintptr_t{slab / slabs_in_piece_} << stripe_shift_) +
           (uintptr_t{slab % slabs_in_piece_} << slab_shift_);
  }

  // The slab number of an address and its offset there; slabs() or more: the address is in no slab.
  struct Slot {
    uint64_t slab;
    uintptr_t offset;
  };
  Slot find(uintptr_t address) const {
    const uintptr_t distance = address - base_;
    const uintptr_t in_piece = distance & ((uintptr_t{1} << stripe_shift_) - 1);
    const uint64_t n = in_piece >> slab_shift_;
    if (n >= slabs_in_piece_) return {~uint64_t{0}, 0};
    return {(distance >> stripe_shift_) * slabs_in_piece_ + n,
            in_piece & ((uintptr_t{1} << slab_shift_) - 1)};
  }

  // The first slab of this slab's piece, and the one after its last: contiguous addresses.
  uint32_t piece_begin(uint32_t slab) const { return slab - slab % slabs_in_piece_; }
  uint32_t piece_end(uint32_t slab) const { return piece_begin(slab) + slabs_in_piece_; }

 private:
  uintptr_t base_ = 0;
  unsigned slab_shift_ = 0;
  unsigned stripe_shift_ = 0;
  uint32_t slabs_in_piece_ = 0;
  uint32_t slabs_ = 0;
};

}  // namespace pktmalloc
