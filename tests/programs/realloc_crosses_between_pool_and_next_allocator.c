// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

int main(void) {
  const size_t small = 3000;
  const size_t large = 3 << 20;
  for (int i = 0; i < 200; ++i) {
    void* block = malloc(small);
    CHECK(pktmalloc_class_bytes(block) >= small);
    write_pattern(block, small, 17);
    block = realloc(block, large);
    CHECK(block != NULL && pktmalloc_class_bytes(block) == 0);
    CHECK(has_pattern(block, small, 17));
    write_pattern(block, large, 18);
    block = realloc(block, large + 12345);
    CHECK(block != NULL && has_pattern(block, large, 18));
    write_pattern(block, small, 19);
    block = realloc(block, small);
    CHECK(block != NULL && pktmalloc_class_bytes(block) >= small);
    CHECK(has_pattern(block, small, 19));
    free(block);
  }
  return 0;
}
