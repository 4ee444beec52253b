// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

int main(void) {
  for (size_t bytes = 0; bytes < 3 << 20; bytes = bytes * 2 + 1) {
    void* block = realloc(NULL, bytes);
    CHECK(block != NULL && malloc_usable_size(block) >= bytes);
    write_pattern(block, bytes, bytes);
    free(block);
    block = reallocarray(NULL, bytes, 1);
    CHECK(block != NULL && malloc_usable_size(block) >= bytes);
    free(block);
  }
  return 0;
}
