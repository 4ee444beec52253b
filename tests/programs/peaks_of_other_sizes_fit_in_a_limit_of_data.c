// SPDX-License-Identifier: MIT
// RLIMIT_DATA: what was freed of one size is there for another, and for requests that are not
// pooled, at once.
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "pattern.h"

enum { kMiB = 1 << 20, kPeak = 40 * kMiB, kLeast = 64 };

static void* objects[kPeak / kLeast];

static void peak(size_t bytes) {
  const size_t count = kPeak / bytes;
  for (size_t i = 0; i < count; ++i) {
    CHECK((objects[i] = i % 2 == 0 ? malloc(bytes) : calloc(1, bytes)) != NULL);
    write_pattern(objects[i], bytes, i);
  }
  for (size_t i = 0; i < count; ++i) {
    CHECK(has_pattern(objects[i], bytes, i));
    free(objects[i]);
  }
}

int main(void) {
  // Two peaks do not fit.
  const struct rlimit limit = {70 * kMiB, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  const size_t sizes[] = {kLeast, 1500, 200, kMiB, 600, 20000, 200, kPeak, 6000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) peak(sizes[i]);
  return 0;
}
