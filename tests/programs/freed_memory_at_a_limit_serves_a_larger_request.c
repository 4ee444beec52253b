// SPDX-License-Identifier: MIT
// With PKTMALLOC_LIMIT=100MiB: of most of it, freed or not, comes one request of more than that.
#include <stdlib.h>

#include "check.h"

enum { kMiB = 1 << 20 };

int main(void) {
  for (size_t before = 5; before <= 30; before += 5) {
    void* freed = malloc(before * kMiB);
    CHECK(freed != NULL);
    free(freed);
    void* larger = malloc((98 - before / 5) * kMiB);
    CHECK(larger != NULL);
    free(larger);
  }
}
