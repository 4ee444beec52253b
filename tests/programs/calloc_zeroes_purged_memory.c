// SPDX-License-Identifier: MIT
// Memory that was written, freed, given back to the system or not, and taken again.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kObjects = 2000 };

int main(void) {
  static unsigned char* objects[kObjects];
  const size_t sizes[] = {16, 1500, 30000, 300000};
  for (int s = 0; s < 4; ++s) {
    const size_t bytes = sizes[s];
    const int count = bytes > 20000 ? 100 : kObjects;
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < count; ++i) {
        CHECK((objects[i] = calloc(1, bytes)) != NULL);
        CHECK(objects[i][0] == 0 && memcmp(objects[i], objects[i] + 1, bytes - 1) == 0);
        memset(objects[i], 0xa5, bytes);
      }
      for (int i = 0; i < count; ++i) free(objects[i]);
      if (round % 2 == 0) malloc_trim(0);
    }
  }
  return 0;
}
