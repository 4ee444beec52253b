// SPDX-License-Identifier: MIT
// exit() out of a handler that interrupts malloc and free at any point: against the rules, but
// programs do it. The library's end must find nothing wrong.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void leave(int unused) {
  (void)unused;
  exit(0);
}

static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}

static void set_for_sigalrm(int how) {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  CHECK(pthread_sigmask(how, &alarm, NULL) == 0);
}

static void work(unsigned us) {
  signal(SIGALRM, leave);
  if (us % 2 != 0) {
    pthread_t thread;
    set_for_sigalrm(SIG_BLOCK);
    CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
    set_for_sigalrm(SIG_UNBLOCK);
  }
  const struct itimerval once = {{0, 0}, {0, us}};
  CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
  void* objects[600];
  for (size_t bytes = 100 + us;; bytes = bytes * 7 % 5000) {
    // Magazines and slabs come and go all the time.
    for (int i = 0; i < 600; ++i) objects[i] = malloc(bytes);
    for (int i = 0; i < 600; ++i) free(objects[i]);
  }
}

int main(void) {
  for (unsigned i = 0; i < 100; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) work(100 + 7 * i);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return 0;
}
