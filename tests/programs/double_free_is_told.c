// SPDX-License-Identifier: MIT
// Found at the second call. Prints the address.
#include <stdlib.h>

#include "check.h"

int main(void) {
  void* object = malloc(100);
  printf("%p\n", object);
  fflush(stdout);
  free(object);
  free(object);
  CHECK(!"the double free was not found");
  return 0;
}
