// SPDX-License-Identifier: MIT
// As container runtimes do, at once after the start, when a thread of the library has just been
// created. On one processor, which that thread gets only if whoever created it lets it.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void start_on_one_processor(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  execl("/proc/self/exe", "child", "started", NULL);
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count == 1) start_on_one_processor();
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  CHECK(child >= 0);
  if (child == 0) {
    alarm(5);
    _exit(setgid(getgid()) == 0 && setuid(getuid()) == 0 ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
