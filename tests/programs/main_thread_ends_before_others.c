// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "resident.h"

static void* objects[1000];

static void* later(void* unused) {
  (void)unused;
  sleep_ms(30);
  for (size_t i = 0; i < 1000; ++i) {
    CHECK(has_pattern(objects[i], i + 1, i));
    free(objects[i]);
  }
  for (size_t i = 0; i < 1000; ++i) CHECK((objects[i] = malloc(i * 3 + 1)) != NULL);
  for (size_t i = 0; i < 1000; ++i) free(objects[i]);
  exit(0);
}

int main(void) {
  for (size_t i = 0; i < 1000; ++i) {
    CHECK((objects[i] = malloc(i + 1)) != NULL);
    write_pattern(objects[i], i + 1, i);
  }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, later, NULL) == 0);
  pthread_exit(NULL);
}
