// SPDX-License-Identifier: MIT
// RLIMIT_DATA: allocation fails with ENOMEM, loses nothing, and works again when the limit is
// raised.
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

enum { kMost = 400000 };

static void* objects[kMost];

static void limit_data(rlim_t bytes) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
  limit.rlim_cur = bytes;
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
}

static int allocate_until_refused(size_t bytes, int most) {
  for (int i = 0; i < most; ++i) {
    errno = 0;
    objects[i] = malloc(bytes);
    if (objects[i] == NULL) {
      CHECK(errno == ENOMEM);
      return i;
    }
    write_pattern(objects[i], bytes, (uint64_t)i);
  }
  return most;
}

static void free_all(size_t bytes, int count) {
  for (int i = 0; i < count; ++i) {
    CHECK(has_pattern(objects[i], bytes, (uint64_t)i));
    free(objects[i]);
  }
}

int main(void) {
  const size_t sizes[] = {100, 1500, 9000, 300000, 3 << 20};
  free(malloc(1));
  for (int i = 0; i < 5; ++i) {
    limit_data(100 << 20);
    const int got = allocate_until_refused(sizes[i], kMost);
    CHECK(got < kMost || sizes[i] * kMost < 100 << 20);
    CHECK(calloc(1, 70 << 20) == NULL && errno == ENOMEM);
    void* aligned = NULL;
    errno = 0;
    CHECK(posix_memalign(&aligned, 4096, 70 << 20) == ENOMEM && errno == 0);
    if (got > 0) CHECK(realloc(objects[0], 70 << 20) == NULL && errno == ENOMEM);
    limit_data(RLIM_INFINITY);
    void* large = malloc(60 << 20);
    CHECK(large != NULL);
    write_pattern(large, 60 << 20, 1);
    free(large);
    void* more[100];
    for (size_t n = 0; n < 100; ++n) {
      CHECK((more[n] = malloc(sizes[i])) != NULL);
      write_pattern(more[n], sizes[i], n);
    }
    for (size_t n = 0; n < 100; ++n) {
      CHECK(has_pattern(more[n], sizes[i], n));
      free(more[n]);
    }
    free_all(sizes[i], got);
    malloc_trim(0);
  }
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  CHECK(statistics.allocated_bytes < 100000);
  return 0;
}
