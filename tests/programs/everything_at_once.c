// SPDX-License-Identifier: MIT
// What makes an allocator ask the system: threads, a peak and its end, large and aligned blocks, a
// fork while others work, an end by exit. Waits by poll, which no allocator would use. Runs without
// the library as well.
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "child.h"
#include "threads.h"

enum { kThreads = 4, kObjects = 4000, kBytes = 1500 };

static atomic_int stop;

static void* run(void* seed) {
  void** objects = (void**)calloc(kObjects, sizeof *objects);
  CHECK(objects != NULL);
  do {
    for (int i = 0; i < kObjects; ++i) {
      CHECK((objects[i] = malloc(kBytes)) != NULL);
      memset(objects[i], i, kBytes);
    }
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
    use_heap((uint64_t)(size_t)seed, 200, 21);
    poll(NULL, 0, 5);
  } while (atomic_load(&stop) == 0);
  free(objects);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  start_threads(threads, kThreads, run);
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      use_heap(7, 500, 20);
      if (i % 2 == 0) exit(0);
      _exit(0);
    }
    wait_for_child(child);
  }
  atomic_store(&stop, 1);
  join_threads(threads, kThreads);
  poll(NULL, 0, 200);  // memory goes back
  free(aligned_alloc(1 << 21, 5 << 20));
  malloc_trim(0);
  return 0;
}
