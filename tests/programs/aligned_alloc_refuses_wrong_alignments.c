// SPDX-License-Identifier: MIT
// aligned_alloc and posix_memalign refuse what is no power of two; memalign rounds it up, as glibc.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  const size_t wrong[] = {0, 3, 6, 12, 24, 100, 4097, SIZE_MAX / 2 + 2, SIZE_MAX};
  for (int i = 0; i < 9; ++i) {
    errno = 0;
    CHECK(aligned_alloc(wrong[i], 96) == NULL);
    CHECK(errno == EINVAL);
  }
  for (size_t alignment = 0; alignment < 5000; alignment += 7) {
    void* block = memalign(alignment, 96);
    size_t power = 1;
    while (power < alignment) power *= 2;
    CHECK(block != NULL && (uintptr_t)block % power == 0);
    free(block);
  }
  errno = 0;
  CHECK(memalign(SIZE_MAX / 2 + 2, 96) == NULL && errno == EINVAL);
  errno = 0;
  CHECK(memalign((size_t)1 << 62, 96) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(aligned_alloc((size_t)1 << 62, 96) == NULL && errno == ENOMEM);
  return 0;
}
