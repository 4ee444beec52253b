// SPDX-License-Identifier: MIT
// Sizes 0..2 MiB: every one up to 8 KiB, then those around each multiple of 4 KiB, over 512 KiB of
// 64 KiB; all held at once in batches, freed in another order.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

enum { kBatch = 64 };

static void* blocks[kBatch];
static size_t sizes[kBatch];
static size_t used;

static void check_batch(void) {
  for (size_t i = 0; i < used; ++i) {
    const size_t n = (i * 37) % kBatch;
    if (n >= used) continue;
    CHECK(has_pattern(blocks[n], sizes[n], sizes[n] + n));
    free(blocks[n]);
    blocks[n] = NULL;
  }
  for (size_t n = 0; n < used; ++n) free(blocks[n]);
  used = 0;
}

static void add(size_t bytes) {
  sizes[used] = bytes;
  CHECK((blocks[used] = malloc(bytes)) != NULL);
  CHECK((size_t)blocks[used] % 16 == 0);
  write_pattern(blocks[used], bytes, bytes + used);
  if (++used == kBatch) check_batch();
}

int main(void) {
  for (size_t bytes = 0; bytes <= 8192; ++bytes) {
    add(bytes);
    add(bytes);
  }
  for (size_t bytes = 8192; bytes <= 2 << 20; bytes += bytes < 512 << 10 ? 4096 : 64 << 10) {
    add(bytes - 1);
    add(bytes);
    add(bytes + 1);
  }
  check_batch();
  return 0;
}
