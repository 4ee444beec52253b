// SPDX-License-Identifier: MIT
// An address of the object's class that no object was ever at. Found when the magazines go back.
// Prints the address.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

int main(void) {
  char* never = (char*)malloc(1000) + (32 << 20);
  printf("%p\n", (void*)never);
  fflush(stdout);
  free(never);
  malloc_trim(0);
  CHECK(!"the wrong pointer was not found");
  return 0;
}
