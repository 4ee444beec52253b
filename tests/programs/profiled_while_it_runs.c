// SPDX-License-Identifier: MIT
// Has its heap profile begun and ended by order, in a process with PKTMALLOC_CONTROL=1. Each
// function allocates a hundred objects of 1000 bytes: before() the profile begins, during() it and,
// in a thread that was there before, in_thread(), after() it ended, and again() once it goes on.
// Half of what during() made is freed while no samples are taken. Argument: the file for the
// profile.
#include <stdlib.h>

#include "check.h"
#include "tell.h"
#include "threads.h"

enum { kObjects = 100, kBytes = 1000 };

static pthread_barrier_t barrier;
static void* objects[5][kObjects];

#define ALLOCATES(name, number)                             \
  __attribute__((noinline)) static void name(void) {        \
    for (int i = 0; i < kObjects; ++i) {                    \
      CHECK((objects[number][i] = malloc(kBytes)) != NULL); \
    }                                                       \
    __asm__ volatile("" ::: "memory");                      \
  }
ALLOCATES(before, 0)
ALLOCATES(during, 1)
ALLOCATES(in_thread, 2)
ALLOCATES(after, 3)
ALLOCATES(again, 4)

static void* work(void* unused) {
  (void)unused;
  // Its own free list holds more than it will need.
  static void* held[kObjects + 1];
  for (int i = 0; i <= kObjects; ++i) CHECK((held[i] = malloc(kBytes)) != NULL);
  for (int i = 0; i <= kObjects; ++i) free(held[i]);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  in_thread();
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char order[5000];
  CHECK(snprintf(order, sizeof order, "profile %s", argv[1]) < (int)sizeof order);
  pthread_t thread;
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  start_threads(&thread, 1, work);
  pthread_barrier_wait(&barrier);
  before();
  tell(getpid(), "profile start");
  during();
  pthread_barrier_wait(&barrier);
  join_threads(&thread, 1);
  tell(getpid(), "profile stop");
  after();
  for (int i = 0; i < kObjects; i += 2) free(objects[1][i]);
  tell(getpid(), "profile start");
  again();
  tell(getpid(), order);
  return 0;
}
