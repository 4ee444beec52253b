// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kObjects = 40 };

static void one_size(size_t bytes) {
  void* objects[kObjects];
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(bytes)) != NULL);
    memset(objects[i], 0xff, bytes);
  }
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  for (int i = 0; i < kObjects; ++i) {
    const unsigned char* zeroed = calloc(bytes / 8, 8);
    CHECK((objects[i] = (void*)zeroed) != NULL);
    CHECK(zeroed[0] == 0 && memcmp(zeroed, zeroed + 1, bytes - 1) == 0);
    memset(objects[i], 0xff, bytes);
  }
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
}

int main(void) {
  for (size_t bytes = 8; bytes <= 4096; bytes += 8) one_size(bytes);
  for (size_t bytes = 4096; bytes <= 2 << 20; bytes += bytes / 4 / 8 * 8) one_size(bytes);
  return 0;
}
