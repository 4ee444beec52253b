// SPDX-License-Identifier: MIT
// Every thread forks, again and again, while the others do and while one frees what all allocate;
// children fork as well.
#include <pthread.h>
#include <stdatomic.h>

#include "child.h"

enum { kThreads = 6, kForks = 40, kShared = 512 };

static _Atomic(void*) shared[kShared];
static atomic_int running;

static void exchange(uint64_t* random, int count) {
  while (count-- > 0) {
    void* block = malloc(random_size(random, 12));
    CHECK(block != NULL);
    free(atomic_exchange(&shared[next_random(random) % kShared], block));
  }
}

static void* storm(void* seed) {
  uint64_t random = (uint64_t)(size_t)seed * 7919 + 1;
  for (int i = 0; i < kForks; ++i) {
    exchange(&random, 500);
    const pid_t child = fork();
    if (child == 0) {
      exchange(&random, 500);
      use_heap(random, 200, 12);
      if (i % 5 == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(0);
        wait_for_child(grandchild);
      }
      _exit(0);
    }
    wait_for_child(child);
  }
  atomic_fetch_sub(&running, 1);
  return NULL;
}

static void* release_all(void* unused) {
  while (atomic_load(&running) > 0) {
    for (int i = 0; i < kShared; ++i) free(atomic_exchange(&shared[i], NULL));
  }
  return unused;
}

int main(void) {
  pthread_t threads[kThreads + 1];
  atomic_store(&running, kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, storm, (void*)(i + 1)) == 0);
  }
  CHECK(pthread_create(&threads[kThreads], NULL, release_all, NULL) == 0);
  for (int i = 0; i <= kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
