// SPDX-License-Identifier: MIT
// A storm of signals whose handler does not allocate. The timer is set anew when its signal has
// come: one that goes on by itself would leave the program no time where a signal takes long.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "child.h"

enum { kSignals = 500, kMostMicroseconds = 300 };

static atomic_int signals;

static void handler(int number) {
  (void)number;
  atomic_fetch_add(&signals, 1);
}

static void* run(void* seed) {
  while (atomic_load(&signals) < kSignals) use_heap((uint64_t)(size_t)seed, 2000, 14);
  return NULL;
}

static void set_timer(int microseconds) {
  const struct itimerval once = {{0, 0}, {0, microseconds}};
  CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, (void*)2) == 0);
  for (int timers = 0; atomic_load(&signals) < kSignals;) {
    if (atomic_load(&signals) == timers) set_timer(1 + ++timers % kMostMicroseconds);
    use_heap((uint64_t)timers, 200, 14);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
