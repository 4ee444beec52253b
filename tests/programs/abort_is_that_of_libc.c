// SPDX-License-Identifier: MIT
// abort ends the process by SIGABRT whatever the program does with that signal, but where its
// handler jumps away.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static sigjmp_buf away;

static void return_from_it(int number) { (void)number; }
static void jump_away(int number) {
  (void)number;
  siglongjmp(away, 1);
}

static int status_after(void (*handler)(int), int is_blocked) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    free(malloc(100));
    signal(SIGABRT, handler);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    if (is_blocked) sigprocmask(SIG_BLOCK, &set, NULL);
    if (sigsetjmp(away, 1) == 0) abort();
    free(malloc(100));
    _exit(7);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

int main(void) {
  void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, return_from_it};
  for (int i = 0; i < 6; ++i) {
    const int status = status_after(handlers[i / 2], i % 2);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  }
  for (int i = 0; i < 2; ++i) {
    const int status = status_after(jump_away, i);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  return 0;
}
