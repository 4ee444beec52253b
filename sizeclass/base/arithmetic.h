// SPDX-License-Identifier: MIT
// Arithmetic: rounding to a step and powers of two, for the sizes of pages, slabs and lookup
// tables; and numbers that scatter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// The least multiple of `step` (any number from 1) that is at least n. The sum must not overflow.
constexpr size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// std::has_single_bit is a call where the processor may lack an instruction for it.
constexpr bool is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

// A linear congruence modulo 2^64 with the multiplier of Knuth (MMIX; The Art of Computer
// Programming 2, 3.3.4), a multiplication each. Its upper bits are good enough for positions, its
// lower ones are not.
constexpr uint64_t next_number(uint64_t last) {
  return last * 6364136223846793005 + 1442695040888963407;
}
// Of odd numbers the next one is odd, too, so there it does without the addition.
constexpr uint64_t next_odd_number(uint64_t last) { return last * 6364136223846793005; }

}  // namespace pktmalloc
