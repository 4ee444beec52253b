// SPDX-License-Identifier: MIT
// Has its calls traced by order, in a process with PKTMALLOC_CONTROL=1. Each step allocates a
// hundred objects of a size of its own: before the trace, while it goes on (here, and in a thread
// that was there before), behind its end, and in a second trace that the end of the process ends.
// Arguments: the files of the two traces.
#include <stdlib.h>

#include "check.h"
#include "tell.h"
#include "threads.h"

enum { kObjects = 100 };

static pthread_barrier_t barrier;

static void allocate(void** objects, size_t bytes) {
  for (int i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(bytes)) != NULL);
}

static void release(void** objects) {
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
}

// Its own free lists hold more than it will need.
static void* work(void* unused) {
  (void)unused;
  static void* warm[kObjects];
  static void* held[kObjects];
  for (size_t bytes = 10003; bytes <= 10006; ++bytes) {
    allocate(warm, bytes);
    release(warm);
  }
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  allocate(held, 10003);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  release(held);
  allocate(held, 10006);
  return NULL;
}

static void trace(const char* file) {
  char order[5000];
  CHECK(snprintf(order, sizeof order, "trace start %s", file) < (int)sizeof order);
  tell(getpid(), order);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  static void *before[kObjects], *during[kObjects], *after[kObjects], *again[kObjects];
  pthread_t thread;
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  start_threads(&thread, 1, work);
  pthread_barrier_wait(&barrier);
  allocate(before, 10001);
  trace(argv[1]);
  for (int fd = 3; fd < 300; ++fd) close(fd);  // none of them is the trace's
  allocate(during, 10002);
  release(before);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  tell(getpid(), "trace stop");
  allocate(after, 10004);
  release(during);
  trace(argv[2]);
  allocate(again, 10005);
  release(again);
  pthread_barrier_wait(&barrier);
  join_threads(&thread, 1);
  return 0;
}
