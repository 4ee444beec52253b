// SPDX-License-Identifier: MIT
// Processes that exit while a thread of theirs forks: they end, and so do the children of that
// thread, which allocate. Whoever hangs is ended by its alarm.
#include <pthread.h>
#include <sys/prctl.h>

#include "child.h"

enum { kProcesses = 100, kStatus = 7, kPatience = 5 };

static void* fork_for_ever(void* unused) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kPatience);
      free(malloc(100));
      _exit(kStatus);
    }
    if (child > 0) waitpid(child, NULL, 0);
  }
  return unused;
}

int main(void) {
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);  // also of those that lose their parent
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() == 0) {
      alarm(kPatience);
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, fork_for_ever, NULL) == 0);
      usleep(3000 + (unsigned)i * 77 % 5000);
      exit(kStatus);
    }
    int status = 0;
    while (wait(&status) > 0) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == kStatus);
  }
  return 0;
}
