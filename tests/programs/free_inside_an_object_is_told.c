// SPDX-License-Identifier: MIT
// Prints the address.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  char* object = malloc(1000);
  printf("%p\n", (void*)(object + 16));
  fflush(stdout);
  free(object + 16);
  malloc_trim(0);
  CHECK(!"the wrong pointer was not found");
  return 0;
}
