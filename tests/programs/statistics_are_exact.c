// SPDX-License-Identifier: MIT
// Holds 1234 objects of 640 bytes, 77 of 49152 and 5 of 4 MiB at its end, after four threads
// exchanged many more of the first two sizes and each made and freed 50 of 1 MiB. Three of 64 MiB
// are nobody's but the next allocator's.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "random.h"
#include "threads.h"

enum { kSlots = 512 };
static _Atomic(void*) slots[kSlots];
static void* held[1234 + 77 + 5];

static void* exchange(void* seed) {
  uint64_t random = (uint64_t)(size_t)seed + 1;
  for (int i = 0; i < 50000; ++i) {
    void* block = malloc(i % 20 == 0 ? 49152 : 640);
    CHECK(block != NULL);
    free(atomic_exchange(&slots[next_random(&random) % kSlots], block));
    if (i % 1000 == 0) free(malloc(1 << 20));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  start_threads(threads, 4, exchange);
  join_threads(threads, 4);
  for (size_t i = 0; i < kSlots; ++i) free(slots[i]);
  for (int i = 0; i < 3; ++i) free(malloc(64 << 20));
  for (int i = 0; i < 1234 + 77 + 5; ++i) {
    CHECK((held[i] = malloc(i < 1234 ? 640 : i < 1234 + 77 ? 49152 : 4 << 20)) != NULL);
  }
  return 0;
}
