// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(void) {
  free(malloc(100));
  free(malloc(10 << 20));
  CHECK(malloc((size_t)1 << 60) == NULL);
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  char line[4200];
  int libraries = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    CHECK(strstr(line, "libstdc++") == NULL);
    CHECK(strstr(line, "libgcc_s") == NULL);
    libraries += strstr(line, "libc.so") != NULL;
  }
  CHECK(libraries > 0);
  fclose(maps);
  return 0;
}
