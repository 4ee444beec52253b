// SPDX-License-Identifier: MIT
// A program with one thread may fork in a signal handler, whatever the signal interrupts, as with
// glibc's own malloc.
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>

#include "child.h"

enum { kForks = 100, kObjects = 100000 };

static volatile int forks;
static volatile int armed;

// One shot, and the next is the loop's to set: a fork may take longer than the interval, so a timer
// that goes on, or that the handler sets, may leave the program no time.
static void set_alarm(void) {
  if (armed || forks == kForks) return;
  armed = 1;
  const struct itimerval soon = {{0, 0}, {0, 400}};
  CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

static void on_alarm(int signal_number) {
  (void)signal_number;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  wait_for_child(child);
  ++forks;
  armed = 0;
}

int main(void) {
  static void* objects[kObjects];
  CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
  while (forks < kForks) {
    for (int i = 0; i < kObjects; ++i) {
      set_alarm();
      objects[i] = aligned_alloc(16, 16);
    }
    for (int i = 0; i < kObjects; ++i) {
      set_alarm();
      free(objects[i]);
    }
    malloc_trim(0);
  }
  return 0;
}
