// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "resident.h"

enum { kThreads = 8, kRounds = 60 };

static void clean_up(void* block) {
  CHECK(has_pattern(block, 3000, 9));
  free(block);
  free(malloc(500));
}

static void* run(void* unused) {
  (void)unused;
  void* block = malloc(3000);
  CHECK(block != NULL);
  write_pattern(block, 3000, 9);
  pthread_cleanup_push(clean_up, block);
  for (;;) {
    void* blocks[100];
    for (int i = 0; i < 100; ++i) CHECK((blocks[i] = malloc(200)) != NULL);
    for (int i = 0; i < 100; ++i) free(blocks[i]);
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return NULL;
}

int main(void) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
    if (round % 4 == 0) sleep_ms(3);
    for (int i = 0; i < kThreads; ++i) CHECK(pthread_cancel(threads[i]) == 0);
    for (int i = 0; i < kThreads; ++i) {
      void* result;
      CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
  }
  CHECK(resident_mib() < 60);
  return 0;
}
