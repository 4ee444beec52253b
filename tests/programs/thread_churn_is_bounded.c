// SPDX-License-Identifier: MIT
// Thousands of threads, one after the other and in small groups: what one leaves, the next takes.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

static void* work(void* unused) {
  (void)unused;
  void* blocks[300];
  for (int i = 0; i < 300; ++i) {
    CHECK((blocks[i] = malloc((size_t)(i % 20 + 1) * 100)) != NULL);
    memset(blocks[i], 1, (size_t)(i % 20 + 1) * 100);
  }
  for (int i = 0; i < 300; ++i) free(blocks[i]);
  return NULL;
}

static void groups(int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) CHECK(pthread_create(&threads[t], NULL, work, NULL) == 0);
    for (int t = 0; t < 4; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  }
}

int main(void) {
  groups(250);
  const double before = resident_mib();
  groups(1000);
  CHECK(resident_mib() - before < 8);
  CHECK(resident_mib() < 40);
  return 0;
}
