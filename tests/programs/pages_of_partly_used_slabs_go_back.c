// SPDX-License-Identifier: MIT
// Of 64 MiB in objects of 8,000 bytes one in sixteen stays: the pages between them go back while
// the program does little.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

int main(void) {
  enum { kObjects = 8192, kBytes = 8000 };
  static char* objects[kObjects];
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(kBytes)) != NULL);
    memset(objects[i], i % 100, kBytes);
  }
  for (int i = 0; i < kObjects; ++i) {
    if (i % 16 != 0) free(objects[i]);
  }
  for (int i = 0; i < 10000 && resident_mib() >= 24; ++i) {
    free(malloc(64));
    sleep_ms(1);
  }
  const double resident = resident_mib();
  CHECK(resident > 0 && resident < 24);
  for (int i = 0; i < kObjects; i += 16) {
    CHECK(objects[i][0] == i % 100 && objects[i][kBytes - 1] == i % 100);
  }
  return 0;
}
