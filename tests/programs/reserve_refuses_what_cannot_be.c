// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "interface.h"
#include "resident.h"

static int in_handler;
static void before_fork(void) { in_handler = pktmalloc_reserve(64, 1); }

int main(void) {
  errno = 7;
  CHECK(pktmalloc_reserve(0, 1) == EINVAL);
  CHECK(pktmalloc_reserve((size_t)1 << 20, 1) == EINVAL);
  CHECK(pktmalloc_reserve(SIZE_MAX, 1) == EINVAL);
  CHECK(pktmalloc_reserve(64, SIZE_MAX) == ENOMEM);
  CHECK(pktmalloc_reserve(1500, (size_t)1 << 40) == ENOMEM);
  CHECK(pktmalloc_reserve(64, 0) == 0);
  CHECK(errno == 7);
  struct pktmalloc_statistics s;
  CHECK(pktmalloc_get_statistics(&s, sizeof s) == sizeof s);
  CHECK(s.populated_bytes == 0);

  // Many calls for few objects take what one call takes.
  const double before = resident_mib();
  for (int i = 0; i < 500; ++i)
    CHECK(pktmalloc_reserve(64, 0) == 0 && pktmalloc_reserve(64, 1) == 0);
  CHECK(resident_mib() - before < 1);
  pktmalloc_get_statistics(&s, sizeof s);
  CHECK(s.populated_bytes > 0 && s.populated_bytes < 256 << 10);

  // With their magazines the limit has no room for them.
  struct rlimit limit = {(rlim_t)128 << 20, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
  CHECK(pktmalloc_reserve(64, 2 << 20) == ENOMEM);
  CHECK(pktmalloc_reserve(16, 11 << 19) == ENOMEM);
  CHECK(resident_mib() - before < 8);
  const uint64_t populated = s.populated_bytes;
  pktmalloc_get_statistics(&s, sizeof s);
  CHECK(s.populated_bytes == populated);

  CHECK(pktmalloc_reserve(64, 1000) == 0);
  CHECK(pthread_atfork(before_fork, NULL, NULL) == 0);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(pktmalloc_reserve(64, 1000) == 0);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(in_handler == 0 || in_handler == EAGAIN);  // before the library's own handler or behind it
  return 0;
}
