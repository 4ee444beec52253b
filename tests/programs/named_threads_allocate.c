// SPDX-License-Identifier: MIT
// `named_threads_allocate [N [kill]]`: make_objects() allocates N objects of 1000 bytes in each of
// two threads that are called "reader", twice as many in one called "writer", and none of them
// goes. With `kill` the process ends by SIGKILL.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "threads.h"

enum { kBytes = 1000 };

static int objects;

__attribute__((noinline, noclone)) static void make_objects(int count) {
  for (int i = 0; i < count; ++i) {
    void** const object = malloc(kBytes);
    CHECK(object != NULL);
    __asm__ volatile("" : : "r"(object) : "memory");
  }
}

static void* work(void* name) {
  CHECK(pthread_setname_np(pthread_self(), name) == 0);
  make_objects(strcmp(name, "writer") == 0 ? 2 * objects : objects);
  return NULL;
}

int main(int argc, char** argv) {
  objects = argc > 1 ? atoi(argv[1]) : 10;
  static char* const names[] = {"reader", "writer", "reader"};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, names[i]) == 0);
  join_threads(threads, 3);
  if (argc == 3) raise(SIGKILL);
  return 0;
}
