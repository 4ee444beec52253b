// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

enum { kBlocks = 16 };

static void one_size(size_t bytes) {
  void* blocks[kBlocks];
  size_t usable[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(bytes)) != NULL);
    usable[i] = malloc_usable_size(blocks[i]);
    CHECK(usable[i] >= bytes);
    write_pattern(blocks[i], usable[i], i + bytes);
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    CHECK(has_pattern(blocks[i], usable[i], i + bytes));
    CHECK(malloc_usable_size(blocks[i]) == usable[i]);
    free(blocks[i]);
  }
}

int main(void) {
  CHECK(malloc_usable_size(NULL) == 0);
  for (size_t bytes = 0; bytes <= 5000; ++bytes) one_size(bytes);
  for (size_t bytes = 5000; bytes <= 3 << 20; bytes += bytes / 7) one_size(bytes);
  return 0;
}
