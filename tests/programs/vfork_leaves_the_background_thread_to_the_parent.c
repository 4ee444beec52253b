// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_BACKGROUND=1: a forked process vforks before its own first allocation. The
// child allocates in its parent's memory, and a thread started there would end with it, perhaps
// while it holds a lock. The parent starts its own all the same.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "threads.h"

// More than the thread has at hand.
static void allocate(void) {
  static void* objects[5000];
  for (size_t i = 0; i < 5000; ++i) CHECK((objects[i] = malloc(1000)) != NULL);
  for (size_t i = 0; i < 5000; ++i) free(objects[i]);
}

int main(void) {
  allocate();
  const int before = threads_of_process();
  const pid_t child = fork();
  if (child != 0) return wait_for_child(child), 0;
  const pid_t grandchild = vfork();
  if (grandchild == 0) {
    allocate();
    _exit(0);
  }
  wait_for_child(grandchild);
  allocate();
  CHECK(threads_of_process() == before);
  return 0;
}
