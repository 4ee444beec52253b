// SPDX-License-Identifier: MIT
// The child allocates, starts threads, frees what its parent allocated, and forks again.
#include <pthread.h>

#include "child.h"
#include "interface.h"

enum { kObjects = 3000, kGenerations = 5 };

static void* objects[kObjects];

static void* run(void* seed) {
  use_heap((uint64_t)(size_t)seed, 2000, 13);
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  for (size_t i = 0; i < 4; ++i) CHECK(pthread_create(&all[i], NULL, run, (void*)(i + 1)) == 0);
  for (size_t i = 0; i < 4; ++i) CHECK(pthread_join(all[i], NULL) == 0);
}

static uint64_t forks(void) {
  struct pktmalloc_statistics statistics;
  CHECK(pktmalloc_get_statistics(&statistics, sizeof statistics) >= sizeof statistics);
  return statistics.forks;
}

static void generation(uint64_t number) {
  CHECK(forks() == number);
  threads();
  use_heap(number + 10, 3000, 16);
  for (size_t i = 0; i < kObjects; ++i) {
    CHECK(has_pattern(objects[i], i % 2000 + 1, i));
    if (i % kGenerations == number % kGenerations) {
      free(objects[i]);
      CHECK((objects[i] = malloc(i % 2000 + 1)) != NULL);
      write_pattern(objects[i], i % 2000 + 1, i);
    }
  }
  if (number == kGenerations) exit(0);
  const pid_t child = fork();
  if (child == 0) generation(number + 1);
  wait_for_child(child);
  use_heap(number + 20, 1000, 16);
  if (number > 0) exit(0);
}

int main(void) {
  for (size_t i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(i % 2000 + 1)) != NULL);
    write_pattern(objects[i], i % 2000 + 1, i);
  }
  generation(0);
  return 0;
}
