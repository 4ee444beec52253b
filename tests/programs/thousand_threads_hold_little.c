// SPDX-License-Identifier: MIT
// A thousand threads alive at once, each of which used ten sizes once.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "check.h"
#include "resident.h"

enum { kThreads = 1000, kSizes = 10, kLeast = 16 };

// What each may hold: four pages of its stack, a cache of 6 KiB, a page of what the hardened
// library lets wait, and of every size a smallest magazine with the objects that a thread's first
// one gets, two up to 1 KiB and one of more.
enum {
  kOfTwo = 7,  // sizes
  kObjectBytes = ((kLeast << kSizes) - kLeast) + ((kLeast << kOfTwo) - kLeast),
  kBytesOfEach = 5 * 4096 + (6 << 10) + kSizes * 192 + kObjectBytes
};

static pthread_barrier_t used, measured;

static void* run(void* unused) {
  (void)unused;
  for (size_t i = 0; i < kSizes; ++i) {
    const size_t bytes = (size_t)kLeast << i;
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
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);  // huge pages would be all that is measured
  const double before = resident_mib();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 128 << 10) == 0);
  pthread_barrier_init(&used, NULL, kThreads + 1);
  pthread_barrier_init(&measured, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], &attributes, run, NULL) == 0);
  }
  pthread_barrier_wait(&used);
  CHECK(resident_mib() - before < (double)kThreads * kBytesOfEach / (1 << 20));
  pthread_barrier_wait(&measured);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
