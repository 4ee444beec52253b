// SPDX-License-Identifier: MIT
// Threads resize, and then free, what their neighbours allocated; sizes on both sides of the pool's
// border.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "random.h"
#include "threads.h"

enum { kThreads = 3, kObjects = 600, kRounds = 20 };

static void* objects[kThreads][kObjects];
static size_t bytes[kThreads][kObjects];
static pthread_barrier_t barrier;

static void* run(void* number) {
  const size_t me = (size_t)number;
  uint64_t random = me * 31 + 1;
  for (size_t round = 0; round < kRounds; ++round) {
    const size_t other = (me + round) % kThreads;
    for (size_t i = 0; i < kObjects; ++i) {
      const size_t wanted = random_size(&random, i % 40 == 0 ? 19 : 14);
      const size_t old = bytes[other][i];
      if (old > 0) CHECK(has_pattern(objects[other][i], old, old + i));
      objects[other][i] = realloc(objects[other][i], wanted);
      CHECK(objects[other][i] != NULL);
      if (old >= 8 && wanted >= 8) CHECK(has_pattern(objects[other][i], 8, old + i));
      bytes[other][i] = wanted;
      write_pattern(objects[other][i], wanted, wanted + i);
    }
    pthread_barrier_wait(&barrier);
  }
  for (size_t i = 0; i < kObjects; ++i) free(objects[(me + 1) % kThreads][i]);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  start_threads(threads, kThreads, run);
  join_threads(threads, kThreads);
  return 0;
}
