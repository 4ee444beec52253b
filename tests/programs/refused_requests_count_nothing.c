// SPDX-License-Identifier: MIT
// Requests that nobody can serve; limit_test.cpp looks at what the limit counts after them.
#include <stdlib.h>

#include "check.h"

int main(void) {
  char* block = malloc(1000000);
  CHECK(block != NULL);
  volatile size_t bytes = (size_t)1 << 58;  // their sum wraps round nothing
  CHECK(realloc(block, bytes) == NULL);
  block[999999] = 1;
  free(block);
  CHECK(malloc(bytes) == NULL);
  CHECK(calloc(bytes, 1) == NULL);
  CHECK(aligned_alloc(4096, bytes) == NULL);
  return 0;
}
