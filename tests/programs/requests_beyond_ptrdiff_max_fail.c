// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

#define REFUSED(call)       \
  do {                      \
    errno = 0;              \
    CHECK((call) == NULL);  \
    CHECK(errno == ENOMEM); \
  } while (0)

int main(void) {
  const size_t sizes[] = {PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096, SIZE_MAX - 16,
                          SIZE_MAX};
  char* block = malloc(100);
  block[99] = 7;
  for (int i = 0; i < 5; ++i) {
    const size_t bytes = sizes[i];
    REFUSED(malloc(bytes));
    REFUSED(calloc(1, bytes));
    REFUSED(calloc(bytes, 1));
    REFUSED(realloc(NULL, bytes));
    REFUSED(realloc(block, bytes));
    REFUSED(reallocarray(block, bytes, 1));
    REFUSED(aligned_alloc(64, bytes));
    REFUSED(aligned_alloc(1 << 20, bytes));
    REFUSED(memalign(64, bytes));
    REFUSED(memalign(3, bytes));
    REFUSED(valloc(bytes));
    REFUSED(pvalloc(bytes));
    void* out = block;
    CHECK(posix_memalign(&out, 64, bytes) == ENOMEM && out == block);
  }
  CHECK(block[99] == 7);
  free(block);
  return 0;
}
