// SPDX-License-Identifier: MIT
// Where nothing more is granted, a large block may still be made smaller, as programs that trim
// their buffers expect.
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "pattern.h"

enum { kMiB = 1 << 20, kMost = 70, kSmall = 64 };

static void* blocks[kMost];

int main(void) {
  const struct rlimit limit = {kMost * kMiB, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  size_t count = 0;
  for (; (blocks[count] = malloc(kMiB)) != NULL; ++count) write_pattern(blocks[count], kMiB, count);
  CHECK(count > kMost / 2);
  while (malloc(kSmall) != NULL) {
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = i % 2 == 0 ? 5000 : kSmall;
    CHECK((blocks[i] = realloc(blocks[i], bytes)) != NULL);
    CHECK(memcmp(blocks[i], &i, sizeof i) == 0);
  }
  return 0;
}
