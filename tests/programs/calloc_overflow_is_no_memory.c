// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static void refused(size_t count, size_t bytes_each) {
  errno = 0;
  CHECK(calloc(count, bytes_each) == NULL);
  CHECK(errno == ENOMEM);
}

int main(void) {
  refused(SIZE_MAX, SIZE_MAX);
  refused(SIZE_MAX / 2 + 1, 2);
  refused(2, SIZE_MAX / 2 + 1);
  refused((size_t)1 << 32, (size_t)1 << 32);
  refused(SIZE_MAX / 16 + 2, 16);
  refused(1, SIZE_MAX);
  return 0;
}
