// SPDX-License-Identifier: MIT
// The thread has a stack, and there was one like it before; the system refuses all new mappings.
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"

static char stack[1 << 20] __attribute__((aligned(4096)));

static void* run(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    void* block = malloc(100);
    CHECK(block != NULL);
    free(block);
  }
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, sizeof stack) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  const struct rlimit none = {0, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &none) == 0);
  CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
