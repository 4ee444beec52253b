// SPDX-License-Identifier: MIT
// Rounding to a step, and powers of two, for the sizes of pages, slabs and lookup tables.
#pragma once

#include <cstddef>

namespace pktmalloc {

// The least multiple of `step` (any number from 1) that is at least n. The sum must not overflow.
constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// std::has_single_bit is a call where the processor may lack an instruction for it.
constexpr bool is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

}  // namespace pktmalloc
