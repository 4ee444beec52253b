// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "check.h"
#include "interface.h"

static uint64_t live_bytes(void) {
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics.allocated_bytes;
}

int main(void) {
  const uint64_t before = live_bytes();
  for (int i = 0; i < 10000; ++i) {
    void* block = malloc(1000);
    CHECK(block != NULL);
    CHECK(realloc(block, 0) == NULL);
    block = malloc(1000);
    CHECK(reallocarray(block, 5, 0) == NULL);
    block = malloc(4 << 20);
    CHECK(block != NULL);
    CHECK(realloc(block, 0) == NULL);
  }
  CHECK(live_bytes() == before);
  return 0;
}
