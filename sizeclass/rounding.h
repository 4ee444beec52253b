// SPDX-License-Identifier: MIT
// Rounding to a step, for sizes that pages, slabs and lookup tables come in.
#pragma once

#include <cstddef>

namespace pktmalloc {

// The least multiple of `step` (at least 1, any number) that is not below n. The sum must not
// overflow.
constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

}  // namespace pktmalloc
