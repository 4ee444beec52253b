// SPDX-License-Identifier: MIT
// malloc and free are no cancellation points, also while another thread forks and holds everything
// up: what is cancelled halfway through free would be lost, and a destructor would terminate.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "child.h"
#include "resident.h"

enum { kThreads = 3, kForks = 150, kObjects = 4096, kBytes = 4096 };

static atomic_int started, stop;

// Whole magazines come and go, so a thread that meets a fork mostly meets it in the exchange.
static void* exchange(void* unused) {
  (void)unused;
  atomic_fetch_add(&started, 1);
  while (atomic_load(&stop) == 0) {
    static __thread void* objects[kObjects];
    for (int i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
  }
  return (void*)1;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, exchange, NULL) == 0);
  }
  while (atomic_load(&started) < kThreads) sleep_ms(1);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_cancel(threads[i]) == 0);
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    wait_for_child(child);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < kThreads; ++i) {
    void* result = NULL;
    CHECK(pthread_join(threads[i], &result) == 0);
    CHECK(result == (void*)1);
  }
  return 0;
}
