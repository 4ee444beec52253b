// SPDX-License-Identifier: MIT
// Threads that all do the same, each knowing its number, which is its argument; and how many there
// are, with the library's own.
#pragma once

#include <dirent.h>
#include <pthread.h>
#include <stddef.h>

#include "check.h"

static inline void start_threads(pthread_t* threads, size_t count, void* (*run)(void*)) {
  for (size_t i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, run, (void*)i) == 0);
}

static inline void join_threads(const pthread_t* threads, size_t count) {
  for (size_t i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static inline int threads_of_process(void) {
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  int count = -2;  // "." and ".."
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}
