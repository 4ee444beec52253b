// SPDX-License-Identifier: MIT
// All at once: threads that allocate at ever new depths, threads that come and go, signals to all
// of them, a library loaded and unloaded, the loader's list walked while allocating, and forks
// whose children allocate. Under a heap profile of every allocation it must neither hang nor fall
// over.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "plugin.h"
#include "random.h"
#include "threads.h"

enum { kRounds = 300 };

static atomic_int interrupted;

static void on_signal(int number) {
  (void)number;
  atomic_fetch_add(&interrupted, 1);
}

__attribute__((noinline)) static void* at_depth(uint64_t path, int depth) {
  void* volatile p;
  if (depth == 0) return malloc(path % 3000);
  if (path & 1) {
    p = at_depth(path >> 1, depth - 1);
  } else {
    char room[64] = "";
    __asm__ volatile("" ::"r"(room) : "memory");
    p = at_depth(path >> 1, depth - 1);
  }
  return p;
}

static void* deep(void* number) {
  uint64_t random = (uint64_t)(size_t)number + 1;
  void* held[64] = {0};
  for (int i = 0; i < kRounds * 10; ++i) {
    void** slot = &held[i % 64];
    free(*slot);
    *slot = at_depth(next_random(&random), (int)(next_random(&random) % 24));
  }
  for (int i = 0; i < 64; ++i) free(held[i]);
  return NULL;
}

static int visit(struct dl_phdr_info* info, size_t bytes, void* argument) {
  (void)info, (void)bytes, (void)argument;
  free(malloc(100));
  return 0;
}

static void* walk_loader(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds * 3; ++i) dl_iterate_phdr(visit, NULL);
  return NULL;
}

static void* load_and_unload(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds / 3; ++i) dlclose(load_plugin("churning", RTLD_NOW));
  return NULL;
}

static void* come_and_go(void* number) {
  for (int i = 0; i < kRounds / 30; ++i) {
    pthread_t threads[4];
    start_threads(threads, 4, deep);
    join_threads(threads, 4);
  }
  return number;
}

static void* fork_often(void* unused) {
  (void)unused;
  for (int i = 0; i < kRounds / 6; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      deep((void*)7);
      _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval each = {{0, 1000}, {0, 1000}};
  CHECK(setitimer(ITIMER_REAL, &each, NULL) == 0);
  void* (*const work[])(void*) = {deep,        deep,      walk_loader, load_and_unload,
                                  come_and_go, fork_often};
  enum { kThreads = sizeof work / sizeof work[0] };
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work[i], (void*)(i + 1)) == 0);
  }
  join_threads(threads, kThreads);
  CHECK(atomic_load(&interrupted) > 0);
  return 0;
}
