// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "check.h"

enum { kObjects = 3000 };

int main(void) {
  static void* objects[kObjects];
  const size_t sizes[] = {1, 64, 1500, 40000, 600000, 4 << 20, 40 << 20};
  for (int s = 0; s < 7; ++s) {
    const int count = sizes[s] > 100000 ? 8 : kObjects;
    for (int i = 0; i < count; ++i) CHECK((objects[i] = malloc(sizes[s])) != NULL);
    errno = 4711;
    for (int i = 0; i < count; ++i) {
      free(objects[i]);
      CHECK(errno == 4711);
    }
  }
  free(NULL);
  CHECK(errno == 4711);
  return 0;
}
