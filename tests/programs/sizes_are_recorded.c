// SPDX-License-Identifier: MIT
// Requests of known sizes, all unlike any of libc's: most are held at one moment, three threads
// share one, some come and go later; then a child that holds half of the first.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threads.h"

enum { kHeld = 1000, kAligned = 10, kEmpty = 5 };

static void* volatile block;

static void* allocate_in_turn(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) {
    void* mine = malloc(1237);
    CHECK(mine != NULL);
    free(mine);
  }
  return NULL;
}

int main(void) {
  void* held[kHeld];
  void* aligned[kAligned];
  void* empty[kEmpty];
  for (int i = 0; i < kHeld; ++i) CHECK((held[i] = malloc(1001)) != NULL);
  for (int i = 0; i < kEmpty; ++i) CHECK((empty[i] = malloc(0)) != NULL);
  for (int i = 0; i < kAligned; ++i) CHECK(posix_memalign(&aligned[i], 256, 301) == 0);
  CHECK((block = malloc(4194305)) != NULL);  // more than counts for the peak
  free(block);
  for (int i = kHeld / 2; i < kHeld; ++i) free(held[i]);
  for (int i = 0; i < kAligned; ++i) free(aligned[i]);
  for (int i = 0; i < kEmpty; ++i) free(empty[i]);

  pthread_t threads[3];
  start_threads(threads, 3, allocate_in_turn);
  join_threads(threads, 3);
  CHECK((block = malloc(777)) != NULL);
  CHECK((block = realloc(block, 5557)) != NULL);
  CHECK((block = realloc(block, 1048583)) != NULL);
  CHECK((block = realloc(block, 2097169)) != NULL);
  free(block);
  for (int i = 0; i < 7; ++i) {
    CHECK((block = calloc(3, 111)) != NULL);
    free(block);
  }

  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; ++i) CHECK((held[kHeld / 2 + i] = malloc(2003)) != NULL);
    for (int i = 0; i < 20 + kHeld / 2; ++i) free(held[i]);
    return 0;
  }
  wait_for_child(child);
  return 0;
}
