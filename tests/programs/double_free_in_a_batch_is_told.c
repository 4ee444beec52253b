// SPDX-License-Identifier: MIT
// An object that stands twice in a row in a batch is found at the call. Prints the address.
#include <stdlib.h>

#include "check.h"
#include "interface.h"

int main(void) {
  void* objects[5];
  CHECK(pktmalloc_allocate_batch(100, 5, objects) == 5);
  objects[3] = objects[2];
  printf("%p\n", objects[2]);
  fflush(stdout);
  pktmalloc_release_batch(objects, 5);
  CHECK(!"the double free was not found");
  return 0;
}
