// SPDX-License-Identifier: MIT
// Rounding to a step, for the sizes of pages, slabs and lookup tables.
#pragma once

#include <cstddef>

namespace pktmalloc {

// The least multiple of `step` (any number from 1) that is at least n. The sum must not overflow.
constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

}  // namespace pktmalloc
