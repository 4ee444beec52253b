// SPDX-License-Identifier: MIT
// Where a filter refuses to change what signals do, a fault ends the program all the same.
#include <signal.h>
#include <unistd.h>

#include "child.h"
#include "sandbox.h"

int main(void) {
  free(malloc(100));
  const pid_t child = fork();
  if (child == 0) {
    const int refused[] = {SYS_rt_sigaction};
    alarm(10);
    if (filter_calls(refused, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW)) {
      *(volatile int*)(uintptr_t)16 = 1;
    }
    raise(SIGSEGV);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
