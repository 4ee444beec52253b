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
#include <sys/wait.h>

#include "plugin.h"
#include "random.h"
#include "resident.h"
#include "threads.h"

enum { kRounds = 300 };

static atomic_int interrupted, running;

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

static void* deep_and_interrupted(void* number) {
  do {
    deep(number);
  } while (atomic_load(&interrupted) == 0);
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

static void* (*const kWork[])(void*) = {deep_and_interrupted, deep_and_interrupted, walk_loader,
                                        load_and_unload,      come_and_go,          fork_often};
enum { kThreads = sizeof kWork / sizeof kWork[0] };

static void* run(void* number) {
  kWork[(size_t)number](number);
  atomic_fetch_sub(&running, 1);
  return NULL;
}

// A signal to whichever thread the system chooses, but this one; the next when it has come.
static void interrupt_others(void) {
  sigset_t signals;
  CHECK(sigemptyset(&signals) == 0 && sigaddset(&signals, SIGUSR1) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
  for (int sent = 0; atomic_load(&running) > 0; sleep_ms(1)) {
    if (atomic_load(&interrupted) < sent) continue;
    CHECK(kill(getpid(), SIGUSR1) == 0);
    ++sent;
  }
}

int main(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t threads[kThreads];
  atomic_store(&running, kThreads);
  start_threads(threads, kThreads, run);
  interrupt_others();
  join_threads(threads, kThreads);
  return 0;
}
