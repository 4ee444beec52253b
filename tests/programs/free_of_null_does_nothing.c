// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "check.h"

void cfree(void*) __attribute__((weak));
void free_sized(void*, size_t) __attribute__((weak));
void free_aligned_sized(void*, size_t, size_t) __attribute__((weak));

int main(void) {
  for (int i = 0; i < 1000; ++i) {
    free(NULL);
    cfree(NULL);
    free_sized(NULL, 10);
    free_aligned_sized(NULL, 64, 10);
  }
  return 0;
}
