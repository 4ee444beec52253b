// SPDX-License-Identifier: MIT
// A thousand threads alive at once, each of which used ten sizes once.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kThreads = 1000 };
static pthread_barrier_t used, measured;

static void* run(void* unused) {
  (void)unused;
  for (size_t i = 0; i < 10; ++i) {
    const size_t bytes = (size_t)16 << i;
    void* block = malloc(bytes);
    CHECK(block != NULL);
    memset(block, 1, bytes);
    free(block);
  }
  pthread_barrier_wait(&used);
  pthread_barrier_wait(&measured);
  return NULL;
}

int main(void) {
  static pthread_t threads[kThreads];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 64 << 10) == 0);
  pthread_barrier_init(&used, NULL, kThreads + 1);
  pthread_barrier_init(&measured, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], &attributes, run, NULL) == 0);
  }
  pthread_barrier_wait(&used);
  CHECK(resident_mib() < 200);
  pthread_barrier_wait(&measured);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
