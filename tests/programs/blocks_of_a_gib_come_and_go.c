// SPDX-License-Identifier: MIT
// Of blocks of a GiB, and aligned to 64 MiB, few pages are used; they grow, shrink and go.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static char* marked(char* block, size_t bytes) {
  CHECK(block != NULL && malloc_usable_size(block) >= bytes);
  block[0] = 1;
  block[bytes - 1] = 2;
  return block;
}

int main(void) {
  const size_t gib = (size_t)1 << 30;
  for (size_t bytes = gib / 8; bytes <= gib + gib / 4; bytes += gib / 8) {
    char* block = calloc(bytes, 1);
    CHECK(block != NULL && block[bytes / 2] == 0);
    free(marked(block, bytes));
    free(marked(malloc(bytes), bytes));
    block = marked(malloc(1 << 20), 1 << 20);
    block = realloc(block, bytes);
    CHECK(block[0] == 1 && block[(1 << 20) - 1] == 2);
    block = realloc(marked(block, bytes), 1 << 20);
    CHECK(block[0] == 1);
    free(block);
  }
  for (size_t alignment = (size_t)8 << 20; alignment <= gib; alignment *= 2) {
    char* block = memalign(alignment, 1);
    CHECK((uintptr_t)block % alignment == 0);
    free(marked(block, 1));
  }
  return 0;
}
