// SPDX-License-Identifier: MIT
// What realloc returns is freed by its size alone, as C23 allows, also if it was aligned before.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

void free_sized(void*, size_t) __attribute__((weak));

int main(void) {
  for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
    for (size_t bytes = 100; bytes < 1000; bytes += 100) {
      char* p = memalign(alignment, 512);
      p[99] = 'x';
      CHECK((p = realloc(p, bytes)) != NULL && p[99] == 'x');
      p[bytes - 1] = 'y';
      if (free_sized != NULL) free_sized(p, bytes);
    }
  }
  return 0;
}
