// SPDX-License-Identifier: MIT
// main() ends by pthread_exit, and the last thread returns: then the process ends, with status 0,
// also when the library has threads of its own, when another thread skipped its destructors, and
// when a destructor of the last one allocates after the library's own, as a logger's may.
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

static pthread_key_t key;  // made after that of the library

static void allocate_at_end(void* object) {
  free(object);
  free(malloc(100));
}

static void* work(void* unused) {
  (void)unused;
  CHECK(pthread_setspecific(key, malloc(10)) == 0);
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
  CHECK(pthread_key_create(&key, allocate_at_end) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  pthread_exit(NULL);
}
