// SPDX-License-Identifier: MIT
// As many large objects as RLIMIT_DATA lets there be; then half are freed, wherever they lie, and
// replaced until it refuses again. However often, there are as many.
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "random.h"

enum { kMost = 1000, kBytes = 600000, kRounds = 40 };

static void* objects[kMost];
static size_t count;

static size_t fill(void) {
  while (count < kMost && (objects[count] = malloc(kBytes)) != NULL) *(char*)objects[count++] = 1;
  CHECK(count < kMost);
  return count;
}

int main(void) {
  const struct rlimit limit = {200 << 20, 200 << 20};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  uint64_t random = 1;
  const size_t first = fill();
  CHECK(first > 200);
  for (int round = 0; round < kRounds; ++round) {
    for (const size_t left = count / 2; count > left;) {
      const size_t i = next_random(&random) % count;
      free(objects[i]);
      objects[i] = objects[--count];
    }
    CHECK(fill() > first * 9 / 10);
  }
}
