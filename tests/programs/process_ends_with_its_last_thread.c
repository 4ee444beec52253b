// SPDX-License-Identifier: MIT
// main() ends by pthread_exit, and the last thread returns: then the process ends, with status 0,
// also when the library has threads of its own.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "resident.h"

enum { kObjects = 60000, kBytes = 1500 };

static void* work(void* unused) {
  (void)unused;
  static void* objects[kObjects];
  for (size_t i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  sleep_ms(20);
  for (size_t i = 0; i < kObjects; ++i) free(objects[i]);
  return NULL;
}

int main(void) {
  free(malloc(100));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  pthread_exit(NULL);
}
