// SPDX-License-Identifier: MIT
// Sizes that are no multiple of the alignment, and none at all; what is usable is written in full.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

static void one(size_t alignment, size_t bytes) {
  void* blocks[3] = {aligned_alloc(alignment, bytes), memalign(alignment, bytes), NULL};
  if (alignment >= sizeof(void*)) {
    CHECK(posix_memalign(&blocks[2], alignment, bytes) == 0);
  } else {
    CHECK((blocks[2] = aligned_alloc(alignment, bytes)) != NULL);
  }
  for (size_t i = 0; i < 3; ++i) {
    CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % alignment == 0);
    CHECK(malloc_usable_size(blocks[i]) >= bytes);
    if (alignment <= 1 << 20) write_pattern(blocks[i], malloc_usable_size(blocks[i]), i);
  }
  for (size_t i = 0; i < 3; ++i) {
    if (alignment <= 1 << 20) CHECK(has_pattern(blocks[i], malloc_usable_size(blocks[i]), i));
    free(blocks[i]);
  }
}

int main(void) {
  for (size_t alignment = 1; alignment <= (size_t)1 << 30; alignment *= 2) {
    for (size_t bytes = 0; bytes < 1100000; bytes = bytes * 9 / 8 + 1) one(alignment, bytes);
  }
  return 0;
}
