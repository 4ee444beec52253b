// SPDX-License-Identifier: MIT
// What was freed of one size goes back while the program fills the next, however fast it is.
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "pattern.h"

enum { kMiB = 1 << 20, kPeak = 40 * kMiB, kLeast = 64 };

static void* objects[kPeak / kLeast];

static void peak(size_t bytes) {
  const size_t count = kPeak / bytes;
  for (size_t i = 0; i < count; ++i) {
    CHECK((objects[i] = malloc(bytes)) != NULL);
    write_pattern(objects[i], bytes, i);
  }
  for (size_t i = 0; i < count; ++i) free(objects[i]);
}

int main(void) {
  const size_t sizes[] = {kLeast, 1500, 200, 4000, 600, 320};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) peak(sizes[i]);
  struct rusage used;
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  CHECK(used.ru_maxrss / 1024 < 2 * kPeak / kMiB);  // all six are 240 MiB
  return 0;
}
