// SPDX-License-Identifier: MIT
// Every function that allocates, asked for nothing.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

enum { kRounds = 50, kFunctions = 11 };

int main(void) {
  static void* blocks[kRounds * kFunctions];
  const volatile size_t huge = SIZE_MAX;  // unknown to the compiler, which would warn
  size_t n = 0;
  for (int round = 0; round < kRounds; ++round) {
    blocks[n++] = malloc(0);
    blocks[n++] = calloc(0, 0);
    blocks[n++] = calloc(0, huge);
    blocks[n++] = calloc(huge, 0);
    blocks[n++] = realloc(NULL, 0);
    blocks[n++] = reallocarray(NULL, 0, 8);
    blocks[n++] = aligned_alloc(64, 0);
    CHECK((uintptr_t)blocks[n - 1] % 64 == 0);
    blocks[n++] = memalign(8192, 0);
    CHECK((uintptr_t)blocks[n - 1] % 8192 == 0);
    CHECK(posix_memalign(&blocks[n++], 256, 0) == 0 && (uintptr_t)blocks[n - 1] % 256 == 0);
    blocks[n++] = valloc(0);
    blocks[n++] = pvalloc(0);
  }
  for (size_t i = 0; i < n; ++i) {
    CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % 16 == 0);
    for (size_t j = 0; j < i; ++j) CHECK(blocks[i] != blocks[j]);
  }
  for (size_t i = 0; i < n; ++i) free(blocks[i]);
  return 0;
}
