// SPDX-License-Identifier: MIT
// A child frees what it has from its parent: it had most in memory at its first call.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "child.h"

enum { kObjects = 20000, kBytes = 1001 };

int main(void) {
  static void* objects[kObjects];
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(kBytes)) != NULL);
    memset(objects[i], 1, kBytes);
  }
  const pid_t child = fork();
  if (child != 0) {
    wait_for_child(child);
    return 0;
  }
  free(malloc(kBytes));
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  malloc_trim(0);
  return 0;
}
