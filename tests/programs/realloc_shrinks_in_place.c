// SPDX-License-Identifier: MIT
// A block stays where it is while the request fits it and fills half of it, and leaves it, so that
// the memory can be used, when it asks for much less.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

int main(void) {
  const size_t sizes[] = {64, 1000, 5000, 40000, 200000};
  for (int i = 0; i < 5; ++i) {
    char* block = malloc(sizes[i]);
    const size_t usable = malloc_usable_size(block);
    for (size_t bytes = usable; bytes >= usable / 2 + 1; bytes -= usable / 16) {
      write_pattern(block, usable, bytes);
      CHECK(realloc(block, bytes) == block);
      CHECK(has_pattern(block, usable, bytes));
    }
    CHECK(realloc(block, usable) == block);  // and back to the full size
    memset(block, 7, usable);
    char* less = realloc(block, usable / 8);
    CHECK(less != NULL && malloc_usable_size(less) <= usable / 4 + 16);
    for (size_t n = 0; n < usable / 8; ++n) CHECK(less[n] == 7);
    free(less);
  }
  return 0;
}
