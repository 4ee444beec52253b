// SPDX-License-Identifier: MIT
// A program that lowers its RLIMIT_AS to 64 MiB gets most of it in objects of random sizes; libc's
// malloc grants 60 MiB.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "random.h"

enum { kMiB = 1 << 20, kLimit = 64 * kMiB, kWanted = 52 * kMiB, kMost = 1 << 17 };

static void* objects[kMost];

// Bytes that are granted before the first request is not.
static size_t fill(unsigned most_bits) {
  uint64_t state = most_bits;
  size_t bytes = 0, count = 0;
  for (; count < kMost; ++count) {
    const size_t now = random_size(&state, most_bits);
    if ((objects[count] = malloc(now)) == NULL) break;
    memset(objects[count], 1, now);
    bytes += now;
  }
  while (count > 0) free(objects[--count]);
  return bytes;
}

int main(void) {
  const struct rlimit limit = {kLimit, kLimit};
  free(malloc(1));
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  CHECK(fill(18) > kWanted);
  CHECK(fill(14) > kWanted);
  return 0;
}
