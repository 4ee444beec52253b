// SPDX-License-Identifier: MIT
// posix_spawn, system and popen, while other threads allocate.
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>

#include "child.h"
#include "threads.h"

static atomic_int stop;

static void* churn(void* seed) {
  while (atomic_load(&stop) == 0) use_heap((uint64_t)(size_t)seed, 500, 13);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  start_threads(threads, 2, churn);
  for (int i = 0; i < 40; ++i) {
    pid_t child = 0;
    char* argv[] = {(char*)"sh", (char*)"-c", (char*)"exit 0", NULL};
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) == 0);
    wait_for_child(child);
    CHECK(system("exit 3") == 3 << 8);
    FILE* pipe = popen("echo hello; exit 5", "r");
    CHECK(pipe != NULL);
    char line[20] = "";
    CHECK(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "hello\n") == 0);
    CHECK(pclose(pipe) == 5 << 8);
  }
  atomic_store(&stop, 1);
  join_threads(threads, 2);
  return 0;
}
