// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  int marker;
  void* out = &marker;
  errno = 4711;
  const size_t wrong[] = {0, 1, 2, 4, 3, 7, 12, 24, 100, SIZE_MAX};
  for (int i = 0; i < 10; ++i) {
    CHECK(posix_memalign(&out, wrong[i], 100) == EINVAL);
    CHECK(out == &marker && errno == 4711);
  }
  CHECK(posix_memalign(&out, 64, SIZE_MAX) == ENOMEM);
  CHECK(out == &marker && errno == 4711);
  CHECK(posix_memalign(&out, (size_t)1 << 62, 100) == ENOMEM);
  CHECK(out == &marker && errno == 4711);
  for (size_t alignment = sizeof(void*); alignment <= 4 << 20; alignment *= 2) {
    for (size_t bytes = 0; bytes <= 4 << 20; bytes = bytes * 4 + 1) {
      CHECK(posix_memalign(&out, alignment, bytes) == 0);
      CHECK(out != NULL && (uintptr_t)out % alignment == 0 && errno == 4711);
      free(out);
    }
  }
  return 0;
}
