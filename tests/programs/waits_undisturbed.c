// SPDX-License-Identifier: MIT
// `waits_undisturbed [WAIT]`: threads wait in system calls of several kinds until SIGUSR1 comes;
// none of the calls may fail or end early, whoever looks at the process meanwhile. With WAIT says
// "ready PID" on stdout, and "undisturbed" at the end; without, nobody waits for long.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

static int pipes[2][2];
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int over;

static void* wait_to_read(void* unused) {
  char byte;
  CHECK(read(pipes[0][0], &byte, 1) == 1 && byte == 'x');
  return unused;
}

static void* wait_to_poll(void* unused) {
  struct pollfd end = {pipes[1][0], POLLIN, 0};
  CHECK(poll(&end, 1, -1) == 1);
  return unused;
}

static void* wait_for_semaphore(void* unused) {
  CHECK(sem_wait(&semaphore) == 0);
  return unused;
}

static void* wait_for_mutex(void* unused) {
  CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  return unused;
}

static void* sleep_again_and_again(void* unused) {
  while (!over) {
    struct timespec before, after, left, time = {0, 30000000};
    CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0 && nanosleep(&time, &left) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
    CHECK((after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >=
          30000000);
  }
  return unused;
}

// Registers, and the result of a call that takes no time.
static void* compute(void* unused) {
  while (!over) {
    unsigned long sum = 0;
    double real = 1;
    for (unsigned i = 0; i < 100000; ++i) sum = sum * 31 + i, real = real * 1.0000001 + 1e-9;
    static unsigned long first;
    static double first_real;
    if (first == 0) first = sum, first_real = real;
    CHECK(sum == first && real == first_real && getpid() > 0);
    free(malloc(100));
  }
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0 && sem_init(&semaphore, 0, 0) == 0);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  void* (*const waits[])(void*) = {wait_to_read,   wait_to_poll,          wait_for_semaphore,
                                   wait_for_mutex, sleep_again_and_again, compute};
  enum { kWaits = sizeof waits / sizeof *waits };
  pthread_t threads[kWaits];
  for (int i = 0; i < kWaits; ++i) CHECK(pthread_create(&threads[i], NULL, waits[i], NULL) == 0);
  if (argc > 1) {
    dprintf(1, "ready %d\n", getpid());
    int signal = 0;
    CHECK(sigwait(&set, &signal) == 0);
  }
  over = 1;
  CHECK(write(pipes[0][1], "x", 1) == 1 && write(pipes[1][1], "x", 1) == 1);
  CHECK(sem_post(&semaphore) == 0 && pthread_mutex_unlock(&mutex) == 0);
  for (int i = 0; i < kWaits; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  // Nobody has made it a parent.
  CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
  if (argc > 1) dprintf(1, "undisturbed\n");
  return 0;
}
