// SPDX-License-Identifier: MIT
// The object is free twice when the magazines are drained into slabs. Prints its address.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  void* object = malloc(100);
  printf("%p\n", object);
  fflush(stdout);
  free(object);
  free(object);
  malloc_trim(0);
  CHECK(!"the double free was not found");
  return 0;
}
