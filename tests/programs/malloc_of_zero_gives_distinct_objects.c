// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

enum { kCount = 1000 };

int main(void) {
  void* objects[kCount];
  for (int i = 0; i < kCount; ++i) {
    objects[i] = i % 2 == 0 ? malloc(0) : calloc(0, 7);
    CHECK(objects[i] != NULL);
    CHECK((size_t)objects[i] % 16 == 0);
    for (int j = 0; j < i; ++j) CHECK(objects[i] != objects[j]);
  }
  for (int i = 0; i < kCount; ++i) free(objects[i]);
  return 0;
}
