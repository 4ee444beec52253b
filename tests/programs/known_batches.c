// SPDX-License-Identifier: MIT
// Batches of sizes that nothing else asks for; tests of what sees every call know them. One object
// stays.
#include <stdlib.h>

#include "check.h"
#include "interface.h"

int main(void) {
  void* objects[5];
  CHECK(pktmalloc_allocate_batch(10007, 3, objects) == 3);
  CHECK(pktmalloc_allocate_batch(3000017, 2, objects + 3) == 2);
  void* const some[] = {objects[4], objects[0], NULL, objects[1], objects[3]};
  pktmalloc_release_batch(some, 5);
  CHECK(objects[2] != NULL);
  return 0;
}
