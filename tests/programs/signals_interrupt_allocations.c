// SPDX-License-Identifier: MIT
// A storm of signals whose handler does not allocate.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "child.h"
#include "resident.h"

static atomic_int signals;

static void handler(int number) {
  (void)number;
  atomic_fetch_add(&signals, 1);
}

static void* run(void* seed) {
  const double end = now_seconds() + 0.7;
  while (now_seconds() < end) use_heap((uint64_t)(size_t)seed, 2000, 14);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 100}, {0, 100}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, (void*)2) == 0);
  run((void*)1);
  CHECK(pthread_join(thread, NULL) == 0);
  const struct itimerval never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  CHECK(atomic_load(&signals) > 100);
  return 0;
}
