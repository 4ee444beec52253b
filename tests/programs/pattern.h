// SPDX-License-Identifier: MIT
// A block's contents, different for each seed: tells whether anybody else wrote into the block.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void write_pattern(void* block, size_t bytes, uint64_t seed) {
  memset(block, (int)(seed * 31 % 255), bytes);
  if (bytes >= sizeof seed) memcpy(block, &seed, sizeof seed);
}

static inline bool has_pattern(const void* block, size_t bytes, uint64_t seed) {
  const unsigned char* at = (const unsigned char*)block;
  if (bytes >= sizeof seed) {
    if (memcmp(at, &seed, sizeof seed) != 0) return false;
    at += sizeof seed;
    bytes -= sizeof seed;
  }
  if (bytes == 0) return true;
  return *at == seed * 31 % 255 && memcmp(at, at + 1, bytes - 1) == 0;
}
