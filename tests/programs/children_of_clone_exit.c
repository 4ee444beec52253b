// SPDX-License-Identifier: MIT
// Children made by the system call alone run no fork handlers, and what other threads held stays
// locked in them: they exit all the same.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(void) {
  for (int i = 0; i < 300; ++i) {
    for (size_t n = 0; n < 100; ++n) {
      void* volatile p = malloc(n * 30);
      free(p);
    }
    usleep(5000);
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) exit(4);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
  }
  return 0;
}
