// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_BACKGROUND=1: detached threads with a stack of the program's, which call
// neither malloc nor free. At the end of each, after all destructors, libc frees the thread's table
// of thread-local blocks in the thread itself. That makes it no thread of the library's, and the
// process ends with its last thread.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"
#include "interface.h"

enum { kThreads = 200 };

static char stack[1 << 18] __attribute__((aligned(4096)));
static atomic_int thread_id;

static void* run(void* unused) {
  atomic_store(&thread_id, (int)syscall(SYS_gettid));
  return unused;
}

static void start_and_end(const pthread_attr_t* attributes) {
  atomic_store(&thread_id, 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, attributes, run, NULL) == 0);
  int id;
  while ((id = atomic_load(&thread_id)) == 0 || syscall(SYS_tgkill, getpid(), id, 0) == 0) {
    sched_yield();
  }
}

int main(void) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, sizeof stack) == 0);
  for (int i = 0; i < kThreads; ++i) start_and_end(&attributes);
  if (pktmalloc_get_statistics != NULL) {
    struct pktmalloc_statistics statistics;
    pktmalloc_get_statistics(&statistics, sizeof statistics);
    CHECK(statistics.threads_seen == 1 && statistics.threads_alive == 1);
  }
  pthread_exit(NULL);
}
