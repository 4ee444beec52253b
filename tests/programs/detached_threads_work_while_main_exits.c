// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"
#include "random.h"
#include "resident.h"

static atomic_int running;

static void* churn(void* seed) {
  uint64_t random = (uint64_t)(size_t)seed * 7919 + 1;
  void* blocks[200] = {0};
  size_t bytes[200] = {0};
  atomic_fetch_add(&running, 1);
  for (;;) {
    const size_t i = next_random(&random) % 200;
    CHECK(blocks[i] == NULL || has_pattern(blocks[i], bytes[i], i));
    free(blocks[i]);
    bytes[i] = random_size(&random, 13);
    CHECK((blocks[i] = malloc(bytes[i])) != NULL);
    write_pattern(blocks[i], bytes[i], i);
  }
  return NULL;
}

static void linger(void) { sleep_ms(30); }

int main(void) {
  atexit(linger);
  for (size_t i = 1; i <= 4; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, churn, (void*)i) == 0);
    CHECK(pthread_detach(thread) == 0);
  }
  while (atomic_load(&running) < 4) sleep_ms(1);
  sleep_ms(20);
  return 0;
}
