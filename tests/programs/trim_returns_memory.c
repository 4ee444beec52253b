// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "interface.h"
#include "resident.h"

enum { kObjects = 50000 };
static void* objects[kObjects];

static void peak(void) {
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(1500)) != NULL);
    memset(objects[i], 1, 1500);
  }
  CHECK(resident_mib() > 70);
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  CHECK(resident_mib() > 70);
}

int main(void) {
  for (int round = 0; round < 3; ++round) {
    peak();
    CHECK(malloc_trim(0) == 1);
    CHECK(resident_mib() < 16);
    peak();
    const size_t given_back = pktmalloc_trim();
    CHECK(given_back > 60u << 20 && given_back < 100u << 20);
    CHECK(resident_mib() < 16);
    CHECK(pktmalloc_trim() < 1u << 20);
  }
  return 0;
}
