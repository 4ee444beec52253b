// SPDX-License-Identifier: MIT
// Thousands of blocks from every function, sizes to 1 MiB, taken and freed at random: sorted by
// address, the usable part of each ends before the next begins, and each holds what was written.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "random.h"

enum { kBlocks = 3000, kSteps = 60000 };

struct block {
  char* start;
  size_t usable;
  uint64_t seed;
};
static struct block blocks[kBlocks], sorted[kBlocks];

static void* allocate(uint64_t* random, size_t bytes) {
  const size_t alignment = (size_t)16 << next_random(random) % 10;
  void* out = NULL;
  switch (next_random(random) % 8) {
    case 0:
      return calloc(1, bytes);
    case 1:
      return aligned_alloc(alignment, bytes);
    case 2:
      return memalign(alignment, bytes);
    case 3:
      CHECK(posix_memalign(&out, alignment, bytes) == 0);
      return out;
    case 4:
      return bytes < 10000 ? valloc(bytes) : malloc(bytes);
    case 5:
      return reallocarray(NULL, bytes, 1);
    case 6:
      out = malloc(bytes / 3);
      return realloc(out, bytes);
    default:
      return malloc(bytes);
  }
}

static int by_address(const void* a, const void* b) {
  const struct block *x = a, *y = b;
  return (x->start > y->start) - (x->start < y->start);
}

static void check_all(void) {
  memcpy(sorted, blocks, sizeof sorted);
  qsort(sorted, kBlocks, sizeof sorted[0], by_address);
  for (int i = 0; i < kBlocks; ++i) {
    if (sorted[i].start == NULL) continue;
    CHECK(malloc_usable_size(sorted[i].start) == sorted[i].usable);
    CHECK(i + 1 == kBlocks || sorted[i].start + sorted[i].usable <= sorted[i + 1].start);
  }
}

int main(void) {
  uint64_t random = 88172645463325252u;
  for (int step = 0; step < kSteps; ++step) {
    struct block* block = &blocks[next_random(&random) % kBlocks];
    if (block->start != NULL) {
      CHECK(has_pattern(block->start, block->usable, block->seed));
      free(block->start);
      block->start = NULL;
    }
    if (next_random(&random) % 8 == 0) continue;
    const size_t bytes = random_size(&random, step % 50 == 0 ? 20 : 13);
    CHECK((block->start = allocate(&random, bytes)) != NULL);
    block->usable = malloc_usable_size(block->start);
    CHECK(block->usable >= bytes && (uintptr_t)block->start % 16 == 0);
    block->seed = (uint64_t)step;
    write_pattern(block->start, block->usable, block->seed);
    if (step % 3000 == 0) check_all();
  }
  check_all();
  for (int i = 0; i < kBlocks; ++i) free(blocks[i].start);
  return 0;
}
