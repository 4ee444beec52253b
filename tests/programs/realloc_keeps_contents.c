// SPDX-License-Identifier: MIT
// A random walk of sizes, across the border between the pool and the next allocator in both
// directions, on many blocks at once.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

enum { kBlocks = 64, kSteps = 12000 };

static unsigned char value_at(int block, size_t i) { return (unsigned char)(block * 37 + i * 11); }

int main(void) {
  uint64_t random = 88172645463325252u;
  unsigned char* blocks[kBlocks] = {0};
  size_t bytes[kBlocks] = {0};
  for (int step = 0; step < kSteps; ++step) {
    const int n = (int)(next_random(&random) % kBlocks);
    const size_t wanted = random_size(&random, step % 16 == 0 ? 22 : 15);
    const size_t kept = bytes[n] < wanted ? bytes[n] : wanted;
    blocks[n] = step % 3 == 0 ? reallocarray(blocks[n], wanted, 1) : realloc(blocks[n], wanted);
    CHECK(blocks[n] != NULL);
    CHECK((size_t)blocks[n] % 16 == 0);
    CHECK(malloc_usable_size(blocks[n]) >= wanted);
    for (size_t i = 0; i < kept; ++i) CHECK(blocks[n][i] == value_at(n, i));
    for (size_t i = kept; i < wanted; ++i) blocks[n][i] = value_at(n, i);
    bytes[n] = wanted;
  }
  for (int n = 0; n < kBlocks; ++n) free(blocks[n]);
  return 0;
}
