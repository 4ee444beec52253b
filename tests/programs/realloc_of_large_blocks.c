// SPDX-License-Identifier: MIT
// Blocks that grow and shrink by realloc keep their contents and nobody else's, whether they stay,
// take what lies behind them, move, become objects of a class, or are too large for the pool; and
// what they no longer need is given back.
#include <malloc.h>
#include <stdint.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"
#include "random.h"

enum { kBlocks = 12, kSteps = 400, kKiB = 1024 };
static struct {
  char* p;
  size_t bytes;
} blocks[kBlocks];

static uint64_t block_bytes(void) {
  struct pktmalloc_statistics statistics = {0};
  if (pktmalloc_get_statistics != NULL) pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics.block_bytes;
}

static void resize(int i, size_t bytes) {
  const size_t kept = blocks[i].bytes < bytes ? blocks[i].bytes : bytes;
  char* const p = realloc(blocks[i].p, bytes);
  CHECK(p != NULL && malloc_usable_size(p) >= bytes && has_pattern(p, kept, (uint64_t)i));
  write_pattern(p, bytes, (uint64_t)i);
  blocks[i].p = p;
  blocks[i].bytes = bytes;
}

// `behind` lies in the way. Bytes of it and of what the block has become, if that is one.
static uint64_t bytes_after(size_t before, size_t after) {
  const uint64_t others = block_bytes();
  void* const p = malloc(before);
  void* const behind = malloc(300 * kKiB);
  void* const moved = realloc(p, after);
  CHECK(behind != NULL && moved != NULL && moved != p);
  const uint64_t bytes = block_bytes() - others;
  free(behind);
  free(moved);
  return bytes;
}

// By a quarter and more: a copy each time costs little.
static void stays_a_block_when_it_jumps(void) {
  const size_t mib = 1024 * kKiB;
  CHECK(bytes_after(2 * mib, 3 * mib) >= 3 * mib + 300 * kKiB);
  CHECK(bytes_after(2 * mib, 2 * mib + mib / 4) < mib);
  CHECK(bytes_after(3 * mib, 5 * mib) < mib);
}

int main(void) {
  if (pktmalloc_get_statistics != NULL) stays_a_block_when_it_jumps();
  uint64_t random = 7;
  const uint64_t before = block_bytes();
  for (int step = 0; step < kSteps; ++step) {
    const size_t largest = (step % 40 == 0 ? 40 : 3) * kKiB * kKiB;
    resize((int)(next_random(&random) % kBlocks), 1 + next_random(&random) % largest);
  }
  // Little by little, to and fro.
  for (int n = 1; n < 64; ++n) resize(n % 3, (size_t)n * 100 * kKiB);
  for (int n = 64; n > 0; --n) resize(n % 3, (size_t)n * 100 * kKiB);
  for (int i = 0; i < kBlocks; ++i) {
    CHECK(blocks[i].bytes == 0 || has_pattern(blocks[i].p, blocks[i].bytes, (uint64_t)i));
    free(blocks[i].p);
  }
  CHECK(block_bytes() == before);
  return 0;
}
