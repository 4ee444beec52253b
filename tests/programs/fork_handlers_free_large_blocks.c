// SPDX-License-Identifier: MIT
// Another library's fork handler, registered before the first request of the process, frees a block
// of the next allocator while the allocator's own locks are held; ten times, with a second thread.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "child.h"

static void* volatile block;

static void before(void) {
  free(block);
  block = NULL;
}

// Before every constructor, the allocator's too.
static void register_handlers(void) { pthread_atfork(before, NULL, NULL); }
__attribute__((section(".preinit_array"), used)) static void (*at_start)(void) = register_handlers;

static void* wait_for_ever(void* unused) {
  pause();
  return unused;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK((block = malloc(300001)) != NULL);
    const pid_t child = fork();
    if (child == 0) _exit(block != NULL);
    wait_for_child(child);
  }
  return 0;
}
