// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

int main(void) {
  const volatile size_t huge[] = {(size_t)1 << 60, PTRDIFF_MAX, SIZE_MAX - 100};
  const size_t sizes[] = {0, 1, 64, 1500, 40000, 262144, 262145, 3 << 20};
  for (int s = 0; s < 8; ++s) {
    void* block = malloc(sizes[s]);
    const size_t usable = malloc_usable_size(block);
    write_pattern(block, usable, usable);
    for (int h = 0; h < 3; ++h) {
      errno = 0;
      CHECK(realloc(block, huge[h]) == NULL && errno == ENOMEM);
      errno = 0;
      CHECK(reallocarray(block, huge[h], 1) == NULL && errno == ENOMEM);
      errno = 0;
      CHECK(reallocarray(block, 2, huge[h] / 2) == NULL && errno == ENOMEM);
      CHECK(malloc_usable_size(block) == usable && has_pattern(block, usable, usable));
    }
    // And nobody else gets it.
    void* others[50];
    for (int i = 0; i < 50; ++i) CHECK((others[i] = malloc(sizes[s])) != block);
    for (int i = 0; i < 50; ++i) free(others[i]);
    free(block);
  }
  return 0;
}
