// SPDX-License-Identifier: MIT
// Found when a forked child exits that has lived for a while; it ends as the child does. Prints the
// address.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(void) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child != 0) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    raise(WTERMSIG(status));
  }
  void* object = malloc(100);
  void* other = malloc(100);
  printf("%p\n", object);
  fflush(stdout);
  free(object);
  free(other);
  free(object);
  usleep(400000);
  return 0;
}
