// SPDX-License-Identifier: MIT
// Signals come while processes exit, and their handler allocates: no process hangs. What is
// interrupted never is a call of malloc or free.
#include <signal.h>
#include <sys/time.h>

#include "child.h"

enum { kProcesses = 60, kObjects = 50000, kSignals = 300, kPatience = 20 };

static void* objects[kObjects];

static void set_timer(long us) {
  const struct itimerval often = {{0, us}, {0, us}};
  setitimer(ITIMER_REAL, &often, NULL);
}

static void on_alarm(int signal) {
  static int signals = 0;
  (void)signal;
  for (size_t bytes = 16; bytes < 40000; bytes += bytes / 2) free(malloc(bytes));
  if (++signals == kSignals) set_timer(0);
}

int main(void) {
  signal(SIGALRM, on_alarm);
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (size_t n = 0; n < kObjects; ++n) CHECK((objects[n] = malloc(16 + n % 20 * 16)) != NULL);
      for (size_t n = 0; n < kObjects; ++n) free(objects[n]);
      set_timer(20);
      exit(0);
    }
    // The alarm is the child's own: this patience is the parent's.
    int status = 0;
    for (int tenths = 0; waitpid(child, &status, WNOHANG) == 0; ++tenths) {
      CHECK(tenths < 10 * kPatience);
      usleep(tenths == 0 ? 2000 : 100000);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return 0;
}
