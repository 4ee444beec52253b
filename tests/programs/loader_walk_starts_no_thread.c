// SPDX-License-Identifier: MIT
// Inside dl_iterate_phdr a thread holds a lock of the loader: the library starts its background
// thread later. (A program linked with the archive has libc's own.)
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kObjects = 40 << 10, kBytes = 1024 };
static void* objects[kObjects];

static int threads(void) {
  int count = -2;  // . and ..
  DIR* const tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}

static int allocate_much(struct dl_phdr_info* info, size_t bytes, void* before) {
  (void)info, (void)bytes;
  for (int i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  CHECK(threads() == *(int*)before);
  return 1;
}

static void* wait_for(void* barrier) {
  free(malloc(100));
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  return NULL;
}

int main(void) {
  Dl_info found;
  CHECK(dladdr((void*)dl_iterate_phdr, &found) != 0);
  if (strstr(found.dli_fname, "libpktmalloc") == NULL) return 0;
  pthread_barrier_t barrier;
  pthread_t other;
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  CHECK(pthread_create(&other, NULL, wait_for, &barrier) == 0);
  pthread_barrier_wait(&barrier);
  int before = threads();
  CHECK(dl_iterate_phdr(allocate_much, &before) == 1);
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  for (int i = 0; i < kObjects; ++i) objects[i] = malloc(kBytes);
  CHECK(before != 2 || threads() == 3);
  pthread_barrier_wait(&barrier);
  CHECK(pthread_join(other, NULL) == 0);
  return 0;
}
