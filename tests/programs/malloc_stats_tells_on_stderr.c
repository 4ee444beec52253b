// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>

int main(void) {
  free(malloc(1500));
  malloc_stats();
  return 0;
}
