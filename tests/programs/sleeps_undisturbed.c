// SPDX-License-Identifier: MIT
// Sleeps for a known time in each of those system calls that a signal's handler would end, in a
// thread each, with nothing that restarts them: none may end early, or by EINTR. A process with
// PKTMALLOC_CONTROL=1 is meanwhile told what the arguments say, by a child, again and again.
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "check.h"
#include "tell.h"
#include "threads.h"

enum { kMs = 1500, kCalls = 5 };

static double now(void) {
  struct timespec time;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void sleep_in(size_t call) {
  const struct timespec time = {kMs / 1000, kMs % 1000 * 1000000};
  struct timeval same = {kMs / 1000, kMs % 1000 * 1000};
  struct epoll_event event;
  struct timespec end;
  sem_t never;
  int epoll;
  switch (call) {
    case 0:
      CHECK(nanosleep(&time, NULL) == 0);
      break;
    case 1:
      CHECK(poll(NULL, 0, kMs) == 0);
      break;
    case 2:
      CHECK((epoll = epoll_create1(0)) >= 0);
      CHECK(epoll_wait(epoll, &event, 1, kMs) == 0);
      break;
    case 3:
      CHECK(select(0, NULL, NULL, NULL, &same) == 0);
      break;
    default:
      CHECK(sem_init(&never, 0, 0) == 0 && clock_gettime(CLOCK_REALTIME, &end) == 0);
      end.tv_sec += 2;
      CHECK(sem_timedwait(&never, &end) == -1 && errno == ETIMEDOUT);
  }
}

static void* sleep_for_its_time(void* call) {
  free(malloc(100));
  const double before = now();
  sleep_in((size_t)call);
  CHECK(now() - before >= kMs);
  return NULL;
}

int main(int argc, char** argv) {
  free(malloc(100));
  pid_t child = 0;
  int told[2];
  CHECK(pipe(told) == 0);
  if (argc > 1 && (child = fork()) == 0) {
    for (int i = 0;; ++i) {
      tell(getppid(), argv[1 + i % (argc - 1)]);
      CHECK(write(told[1], "", 1) == 1);
    }
  }
  char byte;
  close(told[1]);
  if (child != 0) CHECK(read(told[0], &byte, 1) == 1);  // it is under way
  pthread_t threads[kCalls];
  start_threads(threads, kCalls, sleep_for_its_time);
  join_threads(threads, kCalls);
  if (child == 0) return 0;
  // It was told all the while, and the child did not fail.
  for (int i = 0; i < 10; ++i) CHECK(read(told[0], &byte, 1) == 1);
  CHECK(kill(child, 9) == 0 && waitpid(child, &argc, 0) == child);
  CHECK(WIFSIGNALED(argc));
  return 0;
}
