// SPDX-License-Identifier: MIT
// A library that is loaded into a name space of its own brings its own copy of the allocator
// (argument: its file). Threads use both, and each takes back what is its own at their ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "threads.h"

enum { kThreads = 4, kRounds = 30, kObjects = 2000 };

static void* (*other_malloc)(size_t);
static void (*other_free)(void*);

static void* work(void* number) {
  for (int i = 0; i < kObjects; ++i) {
    void* const ours = malloc(64);
    void* const others = other_malloc(64);
    CHECK(ours != NULL && others != NULL && ours != others);
    memset(ours, 1, 64);
    memset(others, 2, 64);
    other_free(others);
    free(ours);
  }
  return number;
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  void* const library = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW);
  CHECK(library != NULL);
  CHECK((other_malloc = (void* (*)(size_t))dlsym(library, "malloc")) != NULL);
  CHECK((other_free = (void (*)(void*))dlsym(library, "free")) != NULL);
  CHECK(other_malloc != malloc);
  for (int i = 0; i < kRounds; ++i) {
    pthread_t threads[kThreads];
    start_threads(threads, kThreads, work);
    join_threads(threads, kThreads);
  }
  return 0;
}
