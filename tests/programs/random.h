// SPDX-License-Identifier: MIT
// Random numbers, the same in every run (Marsaglia's xorshift64).
#pragma once

#include <stdint.h>

static inline uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// A size of up to 2 to the power of `bits`, small ones as likely as large ones.
static inline uint64_t random_size(uint64_t* state, unsigned bits) {
  const uint64_t limit = UINT64_C(1) << (next_random(state) % (bits + 1));
  return next_random(state) % limit + 1;
}
