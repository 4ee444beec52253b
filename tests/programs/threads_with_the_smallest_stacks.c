// SPDX-License-Identifier: MIT
// PTHREAD_STACK_MIN: every slow path must fit, the first of the thread and the last included.
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

static void* run(void* unused) {
  (void)unused;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 1; bytes <= 3 << 20; bytes += bytes / 6 + 1) {
      void* block = round == 1 ? calloc(1, bytes) : malloc(bytes);
      CHECK(block != NULL);
      write_pattern(block, bytes, bytes);
      block = realloc(block, bytes * 2);
      CHECK(block != NULL && has_pattern(block, bytes, bytes));
      CHECK(malloc_usable_size(block) >= bytes * 2);
      free(block);
      free(aligned_alloc(256, bytes));
    }
  }
  malloc_trim(0);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
  for (int i = 0; i < 8; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  return 0;
}
