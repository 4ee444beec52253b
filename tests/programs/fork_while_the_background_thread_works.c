// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_BACKGROUND=1 and a short PKTMALLOC_AGE, so that memory is on its way back at
// every fork. The child gets a background thread of its own.

#include "child.h"
#include "resident.h"
#include "threads.h"

static void peak(void) {
  enum { kObjects = 4000 };
  static void* objects[kObjects];
  for (size_t i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(1500)) != NULL);
    memset(objects[i], 1, 1500);
  }
  for (size_t i = 0; i < kObjects; ++i) free(objects[i]);
}

int main(void) {
  peak();
  CHECK(threads_of_process() == 2);
  for (int i = 0; i < 60; ++i) {
    peak();
    sleep_ms(i % 12);
    const pid_t child = fork();
    if (child == 0) {
      peak();
      CHECK(threads_of_process() == 2);
      use_heap((uint64_t)i, 1000, 14);
      _exit(0);
    }
    wait_for_child(child);
  }
  return 0;
}
