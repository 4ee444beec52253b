// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kObjects = 20000 };

int main(void) {
  static void* objects[kObjects];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kObjects; ++i) {
      CHECK((objects[i] = malloc(1000)) != NULL);
      memset(objects[i], 1, 1000);
    }
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
    CHECK(malloc_trim(0) == 1);
    malloc_trim(0);  // what the next allocator still had
    CHECK(malloc_trim(0) == 0);
  }
  return 0;
}
