// SPDX-License-Identifier: MIT
// Two threads at once, where there was one before; they have stacks, and the system refuses all new
// mappings.
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"

static char stacks[2][1 << 20] __attribute__((aligned(4096)));
static pthread_barrier_t both;

static void work(void) {
  for (int i = 0; i < 1000; ++i) {
    void* block = malloc(100);
    CHECK(block != NULL);
    free(block);
  }
}

static void* run(void* at_once) {
  work();
  if (at_once != NULL) {
    pthread_barrier_wait(&both);  // both have what a thread needs
    work();
  }
  return NULL;
}

int main(void) {
  pthread_attr_t attributes[2];
  pthread_t threads[2];
  CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_attr_init(&attributes[i]) == 0);
    CHECK(pthread_attr_setstack(&attributes[i], stacks[i], sizeof stacks[i]) == 0);
    CHECK(pthread_create(&threads[i], &attributes[i], run, NULL) == 0);
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  const struct rlimit none = {0, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &none) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_create(&threads[i], &attributes[i], run, &both) == 0);
  }
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
