// SPDX-License-Identifier: MIT
// Congruence: numbers that scatter, at a multiplication each.
//
// A linear congruence modulo 2^64 with the multiplier of Knuth (MMIX; The Art of Computer
// Programming 2, 3.3.4). Its upper bits are good enough for positions, its lower ones are not.
#pragma once

#include <cstdint>

namespace pktmalloc {

constexpr uint64_t next_number(uint64_t last) {
  return last * 6364136223846793005 + 1442695040888963407;
}
// Of odd numbers the next one is odd, too, so there it does without the addition.
constexpr uint64_t next_odd_number(uint64_t last) { return last * 6364136223846793005; }

}  // namespace pktmalloc
