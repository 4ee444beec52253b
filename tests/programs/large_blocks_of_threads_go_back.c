// SPDX-License-Identifier: MIT
// Threads that live on have each freed much memory in large blocks; little of it stays.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kThreads = 6, kBlocks = 40, kBytes = 1000000, kMostMiB = 110 };  // 40 MB of each

static pthread_barrier_t freed, looked;

static void* work(void* unused) {
  static void* blocks[kBlocks];  // one thread after the other
  for (int i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(kBytes)) != NULL);
    memset(blocks[i], 1, kBytes);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  pthread_barrier_wait(&freed);
  pthread_barrier_wait(&looked);
  return unused;
}

int main(void) {
  CHECK(pthread_barrier_init(&freed, NULL, 2) == 0);
  CHECK(pthread_barrier_init(&looked, NULL, kThreads + 1) == 0);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    pthread_barrier_wait(&freed);
  }
  CHECK(resident_mib() < kMostMiB);
  pthread_barrier_wait(&looked);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
