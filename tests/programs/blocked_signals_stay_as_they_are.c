// SPDX-License-Identifier: MIT
// A program blocks SIGPIPE and SIGXFSZ, and no file may have more than 200 kB. Neither waits for it
// because of what the library writes; with the argument "pending" one does from the program's own
// write, and goes on waiting.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  (void)argv;
  sigset_t signals, pending;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  CHECK(sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
  const struct rlimit little = {200000, 200000};
  CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
  if (argc > 1) CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
  for (int i = 0; i < 500000; ++i) free(malloc((size_t)i % 1000));
  CHECK(sigpending(&pending) == 0);
  CHECK(sigismember(&pending, SIGPIPE) == (argc > 1));
  CHECK(sigismember(&pending, SIGXFSZ) == 0);
  return 0;
}
