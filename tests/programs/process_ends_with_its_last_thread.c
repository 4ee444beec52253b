// SPDX-License-Identifier: MIT
// main() ends by pthread_exit, and the last thread returns: then the process ends, with status 0,
// also when the library has threads of its own, and when another thread skipped its destructors.
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "resident.h"

enum { kObjects = 60000, kBytes = 1500 };

static void* end_by_system_call(void* unused) {
  free(malloc(100));
  syscall(SYS_exit, 0);
  return unused;
}

static void* work(void* unused) {
  (void)unused;
  static void* objects[kObjects];
  for (size_t i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, end_by_system_call, NULL) == 0);
  CHECK(pthread_join(other, NULL) == 0);
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
