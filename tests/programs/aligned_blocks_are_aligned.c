// SPDX-License-Identifier: MIT
// Alignments up to 1 MiB and beyond; every block is written in full and none overlaps another.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

enum { kBlocks = 6 };

static void* allocate(int kind, size_t alignment, size_t bytes) {
  return kind == 0 ? aligned_alloc(alignment, bytes) : memalign(alignment, bytes);
}

static void one(size_t alignment, size_t bytes) {
  void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = allocate(i % 2, alignment, bytes);
    CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % alignment == 0);
    CHECK(malloc_usable_size(blocks[i]) >= bytes);
    write_pattern(blocks[i], bytes, bytes * 7 + (size_t)i);
  }
  for (int i = 0; i < kBlocks; ++i) {
    CHECK(has_pattern(blocks[i], bytes, bytes * 7 + (size_t)i));
    blocks[i] = realloc(blocks[i], bytes + 100);
    CHECK(has_pattern(blocks[i], bytes, bytes * 7 + (size_t)i));
    free(blocks[i]);
  }
}

// Of sizes that blocks may have, with others between them.
static void many(void) {
  void* kept[64] = {NULL};
  for (size_t n = 0; n < 100000; ++n) {
    const size_t alignment = (size_t)64 << n % 5, bytes = (size_t)64 << n / 5 % 5;
    free(kept[n % 64]);
    CHECK(posix_memalign(&kept[n % 64], alignment, n % 3 == 0 ? 1 + n % 5000 : bytes) == 0);
    CHECK((uintptr_t)kept[n % 64] % alignment == 0);
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
}

// Some allocators align what is smaller than 16 bytes only to its size.
static void small(void) {
  void* kept[64][3];
  for (size_t n = 0; n < 64; ++n) {
    kept[n][0] = malloc(n / 4);
    kept[n][1] = calloc(1, n / 4);
    kept[n][2] = realloc(NULL, n / 4);
    for (int i = 0; i < 3; ++i) CHECK((uintptr_t)kept[n][i] % 16 == 0);
  }
  for (size_t n = 0; n < 64; ++n) {
    for (int i = 0; i < 3; ++i) free(kept[n][i]);
  }
}

int main(void) {
  small();
  many();
  for (size_t alignment = 1; alignment <= 8 << 20; alignment *= 2) {
    for (size_t bytes = 1; bytes <= 200000; bytes = bytes * 3 + 1) one(alignment, bytes);
    one(alignment, alignment);
  }
  return 0;
}
