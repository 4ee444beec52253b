// SPDX-License-Identifier: MIT
// RLIMIT_AS, lowered while the program runs: what an option has reserved does not fill it.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { kObjects = 100000, kBytes = 300 };
static unsigned char* objects[kObjects];

int main(void) {
  for (int i = 0; i < kObjects / 5; ++i) objects[i] = malloc(kBytes);
  for (int i = 0; i < kObjects / 5; ++i) free(objects[i]);
  const struct rlimit lower = {(rlim_t)64 << 20, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &lower) == 0);
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(kBytes)) != NULL);
    memset(objects[i], i & 0xff, kBytes);
  }
  for (int i = 0; i < kObjects; ++i) {
    CHECK(objects[i][0] == (i & 0xff) && objects[i][kBytes - 1] == (i & 0xff));
    free(objects[i]);
  }
  return 0;
}
