// SPDX-License-Identifier: MIT
// One thread forks while four others allocate, exchange and free as fast as they can.
#include <pthread.h>
#include <stdatomic.h>

#include "child.h"

enum { kThreads = 4, kForks = 50, kShared = 4096 };

static atomic_int stop;
static _Atomic(void*) shared[kShared];

static void* churn(void* seed) {
  uint64_t random = (uint64_t)(size_t)seed * 7919 + 1;
  while (atomic_load(&stop) == 0) {
    for (int i = 0; i < 500; ++i) {
      const size_t bytes = random_size(&random, 11);
      void* block = malloc(bytes);
      CHECK(block != NULL);
      memset(block, 1, bytes < 64 ? bytes : 64);
      free(atomic_exchange(&shared[next_random(&random) % kShared], block));
    }
  }
  return NULL;
}

static void* thread_in_child(void* unused) {
  (void)unused;
  use_heap(5, 300, 12);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, churn, (void*)(i + 1)) == 0);
  }
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      use_heap((uint64_t)i, 1500, 14);
      if (i % 10 == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, thread_in_child, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
          use_heap((uint64_t)i + 1, 500, 14);
          _exit(0);
        }
        wait_for_child(grandchild);
      }
      for (size_t n = 0; n < kShared; n += 3) free(atomic_exchange(&shared[n], NULL));
      if (i % 2 == 0) exit(0);
      _exit(0);
    }
    wait_for_child(child);
  }
  atomic_store(&stop, 1);
  for (size_t i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
