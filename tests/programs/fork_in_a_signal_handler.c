// SPDX-License-Identifier: MIT
// A program with one thread may fork in a signal handler, whatever the signal interrupts, as with
// glibc's own malloc.
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

#include "child.h"

enum { kForks = 300, kObjects = 100000 };

static volatile int forks;

// Once: a fork may take longer than the interval, and a timer that goes on would leave the program
// no time.
static void set_alarm(void) {
  const struct itimerval soon = {{0, 0}, {0, 400}};
  CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

static void on_alarm(int signal_number) {
  (void)signal_number;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  wait_for_child(child);
  ++forks;
  set_alarm();
}

int main(void) {
  static void* objects[kObjects];
  CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
  set_alarm();
  while (forks < kForks) {
    for (int i = 0; i < kObjects; ++i) objects[i] = aligned_alloc(16, 16);
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
    malloc_trim(0);
  }
  return 0;
}
