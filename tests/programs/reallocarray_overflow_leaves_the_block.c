// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

int main(void) {
  const volatile size_t huge = SIZE_MAX;  // unknown to the compiler, which would warn
  const size_t sizes[] = {24, 5000, 5 << 20};
  for (int i = 0; i < 3; ++i) {
    void* block = malloc(sizes[i]);
    write_pattern(block, sizes[i], 5);
    errno = 0;
    CHECK(reallocarray(block, huge / 4, 8) == NULL);
    CHECK(errno == ENOMEM);
    CHECK(has_pattern(block, sizes[i], 5));
    CHECK(reallocarray(block, huge, huge) == NULL);
    CHECK(has_pattern(block, sizes[i], 5));
    free(block);
  }
  return 0;
}
