// SPDX-License-Identifier: MIT
// Where there is room for one more block, an object can grow into it. (With PKTMALLOC_LIMIT=64MiB.)
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kBytes = 140000, kMost = 1000 };

int main(void) {
  static void* blocks[kMost];
  char* const small = malloc(5000);
  CHECK(small != NULL);
  memset(small, 7, 5000);
  int count = 0;
  while (count < kMost && (blocks[count] = malloc(kBytes)) != NULL) ++count;
  CHECK(count > 0 && count < kMost);
  free(blocks[--count]);
  char* const grown = realloc(small, kBytes);
  CHECK(grown != NULL && grown[0] == 7 && grown[4999] == 7);
  free(grown);
  while (count > 0) free(blocks[--count]);
  return 0;
}
