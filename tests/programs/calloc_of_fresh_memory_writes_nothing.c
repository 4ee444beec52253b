// SPDX-License-Identifier: MIT
// Large zeroed objects, of which one byte is used: the rest of their memory is not touched. What
// was used before by objects of any size is zero all the same.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kObjects = 400 };

static char* objects[kObjects];

static void take(size_t bytes) {
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = calloc(1, bytes)) != NULL);
    objects[i][bytes / 2] = 1;
  }
}

static void dirty_and_free(size_t bytes) {
  for (int i = 0; i < kObjects; ++i) {
    memset(objects[i], 0x55, bytes);
    free(objects[i]);
  }
}

int main(void) {
  const size_t sizes[] = {17000, 50000, 100000, 200000, 30000, 17000};
  const double before = resident_mib();
  take(200000);
  CHECK(resident_mib() - before < 20);  // 76 MiB are taken
  dirty_and_free(200000);
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; ++n) {
    take(sizes[n]);
    for (int i = 0; i < kObjects; ++i) {
      objects[i][sizes[n] / 2] = 0;
      for (size_t at = 0; at < sizes[n]; ++at) CHECK(objects[i][at] == 0);
    }
    dirty_and_free(sizes[n]);
  }
  return 0;
}
