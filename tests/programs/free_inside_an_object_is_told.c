// SPDX-License-Identifier: MIT
// Found when the process ends. Prints the address.
#include <stdlib.h>

#include "check.h"

int main(void) {
  char* object = malloc(1000);
  printf("%p\n", (void*)(object + 16));
  fflush(stdout);
  free(object + 16);
  return 0;  // the test expects an abort
}
