// SPDX-License-Identifier: MIT
// SIGSEGV that somebody sent and that the program blocks waits for it, whatever is allocated
// meanwhile.
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

int main(void) {
  sigset_t fault;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  CHECK(sigprocmask(SIG_BLOCK, &fault, NULL) == 0);
  CHECK(kill(getpid(), SIGSEGV) == 0);
  for (size_t i = 1; i < 1000; ++i) free(malloc(i));
  const struct timespec at_once = {0, 0};
  CHECK(sigtimedwait(&fault, NULL, &at_once) == SIGSEGV);
  return 0;
}
