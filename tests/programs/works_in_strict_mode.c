// SPDX-License-Identifier: MIT
// The kernel kills a thread in seccomp's strict mode at any system call but read, write and exit.
// What was allocated and freed before in such sizes is so again, for as long as it likes, also
// while much memory lies free.
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"
#include "child.h"

enum { kPeak = 20000, kWarm = 200, kRounds = 2000, kMs = 300, kFrees = 100 };

static void pairs(void) {
  for (size_t bytes = 0; bytes < 200000; bytes = bytes * 3 / 2 + 1) {
    free(malloc(bytes));
    free(calloc(1, bytes));
    free(memalign(64, bytes));
    free(realloc(malloc(bytes), bytes * 2 / 3 + 1));
  }
}

static uint64_t now_ms(void) {
  struct timespec now;  // the exact clock is forbidden as well
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void work_strictly(void) {
  static void* objects[kPeak];
  for (int i = 0; i < kWarm; ++i) pairs();
  for (int i = 0; i < kPeak; ++i) CHECK((objects[i] = malloc(1000)) != NULL);
  for (int i = 0; i < kPeak; ++i) free(objects[i]);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(0);  // not in every kernel
  const uint64_t begin = now_ms();
  for (int i = 0; i < kPeak; ++i) CHECK((objects[i] = malloc(1000)) != NULL);
  for (int i = 0; i < kPeak; ++i) free(objects[i]);
  for (int i = 0; i < kRounds || now_ms() - begin < kMs; ++i) pairs();
  syscall(SYS_exit, 0);
}

static void* objects_of_another[kFrees];
static volatile int freed;

// Its first call of the heap is a free. A call ends the thread alone.
static void* only_free(void* unused) {
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(0);
  for (int i = 0; i < kFrees; ++i) free(objects_of_another[i]);
  freed = 1;
  syscall(SYS_exit, 0);
  return unused;
}

static void let_another_free(void) {
  for (int i = 0; i < kFrees; ++i) CHECK((objects_of_another[i] = malloc(1000)) != NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, only_free, NULL) == 0);
  pthread_join(thread, NULL);
  CHECK(freed);
  _exit(0);
}

int main(void) {
  char name[16] = "";
  CHECK(prctl(PR_SET_NAME, "strictly") == 0 && prctl(PR_GET_NAME, name) == 0);
  CHECK(name[0] == 's' && prctl(-1) == -1 && errno == EINVAL);
  void (*const ways[])(void) = {work_strictly, let_another_free};
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) ways[i]();
    wait_for_child(child);
  }
  return 0;
}
