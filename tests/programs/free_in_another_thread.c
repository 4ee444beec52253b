// SPDX-License-Identifier: MIT
// Each of four threads frees what its neighbour allocated, round after round.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "random.h"
#include "resident.h"
#include "threads.h"

enum { kThreads = 4, kObjects = 5000, kRounds = 12 };

static void* objects[kThreads][kObjects];
static size_t bytes[kThreads][kObjects];
static pthread_barrier_t barrier;

static void* run(void* number) {
  const size_t me = (size_t)number;
  uint64_t random = me * 31 + 1;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kObjects; ++i) {
      bytes[me][i] = random_size(&random, 12);
      CHECK((objects[me][i] = malloc(bytes[me][i])) != NULL);
      write_pattern(objects[me][i], bytes[me][i], me * kObjects + i);
    }
    pthread_barrier_wait(&barrier);
    const size_t other = (me + 1) % kThreads;
    for (size_t i = 0; i < kObjects; ++i) {
      CHECK(has_pattern(objects[other][i], bytes[other][i], other * kObjects + i));
      free(objects[other][i]);
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  start_threads(threads, kThreads, run);
  join_threads(threads, kThreads);
  CHECK(resident_mib() < 200);
  return 0;
}
