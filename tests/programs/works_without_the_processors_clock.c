// SPDX-License-Identifier: MIT
// A program may forbid itself the instruction that reads the processor's clock: then each is a
// SIGSEGV. It allocates and frees as before, for as long as memory needs to go back, and threads
// wait for each other's locks.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "check.h"
#include "threads.h"

enum { kObjects = 10000, kMs = 100, kThreads = 4 };

static uint64_t now_ms(void) {
  struct timespec now;  // the exact clock is that of the processor
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void* work(void* number) {
  void** const objects = calloc(kObjects, sizeof *objects);
  CHECK(objects != NULL);
  const uint64_t begin = now_ms();
  do {
    for (size_t i = 0; i < kObjects; ++i) {
      CHECK((objects[i] = malloc(500 + i % 1000)) != NULL);
      memset(objects[i], 1, 500);
    }
    for (size_t i = 0; i < kObjects; ++i) free(objects[i]);
    for (size_t i = 0; i < 1000; ++i) free(malloc(i));
  } while (now_ms() - begin < kMs);
  free(objects);
  return number;
}

int main(void) {
#if defined(__x86_64__)
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 0;  // not in every kernel
  work(NULL);
  pthread_t threads[kThreads];
  start_threads(threads, kThreads, work);
  join_threads(threads, kThreads);
#endif
  return 0;
}
