// SPDX-License-Identifier: MIT
// Objects of one size take all memory there may be, and are freed, in no order. Then other sizes
// get as much, without a call of malloc_trim. The limit is PKTMALLOC_LIMIT=16MiB; without it
// RLIMIT_DATA, which counts bookkeeping of each size as well, so there are fewer of them.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { kLeast = 64, kMost = 1 << 20 };

static void* objects[kMost];

// Returns the bytes it got before it was refused.
static size_t fill_and_free(size_t bytes) {
  size_t count = 0;
  while (count < kMost && (objects[count] = malloc(bytes)) != NULL) {
    memset(objects[count++], 1, bytes);
  }
  const size_t stride = 611953;  // a prime, so that each one's turn comes
  for (size_t i = 0; i < count; ++i) free(objects[i * stride % count]);
  return count * bytes;
}

int main(void) {
  free(malloc(1));
  const int by_option = getenv("PKTMALLOC_LIMIT") != NULL;
  const size_t most = (size_t)(by_option ? 16 : 64) << 20;
  const struct rlimit limit = {most + (20 << 20), most + (20 << 20)};
  if (!by_option) CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  const size_t least = by_option ? kLeast : 1024;
  for (size_t bytes = least; bytes < most / 8; bytes += by_option ? bytes / 5 : 3 * bytes) {
    CHECK(fill_and_free(bytes) > most / 3);  // the checked library's smallest take twice as much
  }
  CHECK(fill_and_free(least) > most / 3);
  return 0;
}
