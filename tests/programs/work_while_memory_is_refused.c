// SPDX-License-Identifier: MIT
// Threads, a fork, peaks and their end, while the system refuses memory now and then (with
// tests/plugins/refusing.cpp in front, or under `system_calls refuse`): every request is served or
// fails with ENOMEM, no object is damaged, and once the system grants again every request is
// served.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "child.h"
#include "interface.h"
#include "resident.h"

void stop_refusing(void) __attribute__((weak));

enum { kObjects = 300 };

struct Objects {
  void* at[kObjects];
  size_t bytes[kObjects];
};

static int serves_all;

static void* checked(void* block) {
  CHECK(block != NULL || (!serves_all && errno == ENOMEM));
  return block;
}

static void peak(struct Objects* objects, uint64_t* random) {
  for (size_t i = 0; i < kObjects; ++i) {
    // Some are too large to be pooled.
    const size_t bytes = random_size(random, 15) + (i % 50 == 0 ? 300u << 10 : 0);
    objects->bytes[i] = bytes;
    errno = 0;
    void* block = i % 5 == 0   ? calloc(1, bytes)
                  : i % 7 == 0 ? aligned_alloc(64, bytes)
                               : malloc(bytes);
    if ((objects->at[i] = checked(block)) != NULL) write_pattern(block, bytes, i);
  }
  for (size_t i = 0; i < kObjects; i += 3) {
    if (objects->at[i] == NULL) continue;
    const size_t bytes = random_size(random, 15);
    const size_t both = bytes < objects->bytes[i] ? bytes : objects->bytes[i];
    CHECK(has_pattern(objects->at[i], objects->bytes[i], i));
    write_pattern(objects->at[i], both, i);
    errno = 0;
    void* moved = checked(realloc(objects->at[i], bytes));
    if (moved == NULL) continue;
    CHECK(has_pattern(moved, both, i));
    write_pattern(moved, bytes, i);
    objects->at[i] = moved;
    objects->bytes[i] = bytes;
  }
}

static void end_peak(struct Objects* objects) {
  for (size_t i = 0; i < kObjects; ++i) {
    CHECK(objects->at[i] == NULL || has_pattern(objects->at[i], objects->bytes[i], i));
    free(objects->at[i]);
  }
}

static void* run(void* seed) {
  static __thread struct Objects objects;
  uint64_t random = (uint64_t)(size_t)seed * 7919 + 1;
  for (int round = 0; round < 2; ++round) {
    peak(&objects, &random);
    end_peak(&objects);
  }
  malloc_trim(0);
  return NULL;
}

static void work(void) {
  pthread_t thread;
  const int failed = pthread_create(&thread, NULL, run, (void*)1);
  CHECK(failed == 0 || (failed == EAGAIN && !serves_all));
  run((void*)2);
  const pid_t child = fork();
  if (child == 0) {
    run((void*)3);
    _exit(0);
  }
  wait_for_child(child);
  if (failed == 0) CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  getppid();  // a mark for whoever refuses
  work();
  getppid();
  if (stop_refusing != NULL) stop_refusing();
  serves_all = 1;
  work();
  malloc_trim(0);
  if (pktmalloc_get_statistics == NULL) return 0;
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  CHECK(statistics.allocated_bytes < 300000);
  CHECK(statistics.allocs - statistics.frees < 100);
  return 0;
}
