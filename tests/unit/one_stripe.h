// SPDX-License-Identifier: MIT
// one_stripe: areas one behind the other, of any power of two.
#pragma once

#include <bit>

#include "sizeclass/stripes.h"

namespace pktmalloc::test {

inline Stripes one_stripe(uintptr_t base, size_t area_bytes, unsigned areas_shift) {
  return {base, static_cast<unsigned>(std::countr_zero(area_bytes)), areas_shift, 1};
}

}  // namespace pktmalloc::test
