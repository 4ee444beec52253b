// SPDX-License-Identifier: MIT
// A bit of everything, for whatever limits it is run under; prints one line.
#include <pthread.h>
#include <stdio.h>

#include "child.h"

static void* run(void* seed) {
  use_heap((uint64_t)(size_t)seed, 2000, 14);
  return NULL;
}

int main(void) {
  use_heap(1, 3000, 15);
  use_heap(2, 20, 22);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  pthread_t threads[3];
  for (size_t i = 0; i < 3; ++i)
    CHECK(pthread_create(&threads[i], &attributes, run, (void*)i) == 0);
  for (size_t i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  const pid_t child = fork();
  if (child == 0) {
    use_heap(3, 3000, 15);
    _exit(0);
  }
  wait_for_child(child);
  printf("done\n");
  return 0;
}
