// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
  CHECK(mallopt(M_TRIM_THRESHOLD, 16 << 20) == 1);
  CHECK(mallopt(M_TOP_PAD, 1 << 20) == 1);
  CHECK(mallopt(M_ARENA_MAX, 2) == 1);
  free(malloc(8 << 20));
  return 0;
}
