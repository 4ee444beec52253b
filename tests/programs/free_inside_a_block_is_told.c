// SPDX-License-Identifier: MIT
// Of a size that no class serves. Prints the address.
#include <stdlib.h>

#include "check.h"

int main(void) {
  char* block = malloc(1000000);
  printf("%p\n", (void*)(block + 70016));
  fflush(stdout);
  free(block + 70016);
  return 0;  // the test expects an abort
}
