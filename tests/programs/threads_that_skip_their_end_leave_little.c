// SPDX-License-Identifier: MIT
// Threads that end by the system call `exit`, past all destructors, and threads that allocate first
// in the last round of destructors: others get the memory that they held.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "interface.h"
#include "resident.h"

enum { kThreads = 500, kSizes = 12 };

static pthread_key_t key;

static void use_memory(void) {
  for (size_t i = 0; i < kSizes; ++i) {
    const size_t bytes = (size_t)16 << i;
    void* block = malloc(bytes);
    CHECK(block != NULL);
    memset(block, 1, bytes);
    free(block);
  }
}

static void in_a_round(void* rounds) {
  if (--*(int*)rounds == 0) return use_memory();
  CHECK(pthread_setspecific(key, rounds) == 0);
}

static void* end_in_the_last_round(void* rounds) {
  *(int*)rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
  CHECK(pthread_setspecific(key, rounds) == 0);
  return NULL;
}

static void* end_by_system_call(void* unused) {
  use_memory();
  syscall(SYS_exit, 0);
  return unused;
}

static void run(void* (*thread)(void*)) {
  static int rounds;
  pthread_t id;
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&id, NULL, thread, &rounds) == 0 && pthread_join(id, NULL) == 0);
  }
}

int main(void) {
  use_memory();
  CHECK(pthread_key_create(&key, in_a_round) == 0);
  const double before = resident_mib();
  run(end_in_the_last_round);
  run(end_by_system_call);
  CHECK(resident_mib() - before < kThreads * 10 / 1024.0);
  if (pktmalloc_get_statistics != NULL) {
    struct pktmalloc_statistics statistics;
    pktmalloc_get_statistics(&statistics, sizeof statistics);
    CHECK(statistics.threads_seen == 1 + 2 * kThreads && statistics.threads_alive <= 3);
  }
  return 0;
}
