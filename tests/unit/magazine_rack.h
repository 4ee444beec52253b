// SPDX-License-Identifier: MIT
// MagazineRack: magazines of one size side by side, for tests of stacks and depots; one at a time.
#pragma once

#include <new>

#include "sizeclass/exchange/magazine_stack.h"
#include "tests/unit/reservation.h"

namespace pktmalloc::test {

class MagazineRack {
 public:
  explicit MagazineRack(unsigned count, unsigned size = 0)
      : count_(count), size_(size), memory_(count * bytes_of_size(size)) {
    memory_.commit();
    // Id 0 is none.
    MagazineStack::use_base(memory_.address() - kMagazineGranule);
    for (unsigned n = 0; n < count; ++n) {
      Magazine* magazine = new (at(n)) Magazine{};
      magazine->size = static_cast<uint8_t>(size);
      magazine->set_capacity(rounds_of_size(size));
    }
  }
  Magazine* operator[](unsigned n) { return static_cast<Magazine*>(at(n)); }
  unsigned count() const { return count_; }
  unsigned number_of(const Magazine* magazine) const {
    return static_cast<unsigned>((reinterpret_cast<uintptr_t>(magazine) - memory_.address()) /
                                 bytes_of_size(size_));
  }

 private:
  void* at(unsigned n) { return memory_.start() + n * bytes_of_size(size_); }

  unsigned count_, size_;
  Reservation memory_;
};

}  // namespace pktmalloc::test
