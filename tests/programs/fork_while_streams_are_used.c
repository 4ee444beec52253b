// SPDX-License-Identifier: MIT
// fork takes the locks of all streams; threads that hold one of them and allocate must not wait for
// the thread that forks.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "child.h"

enum { kForks = 30, kLine = 200000, kLines = 8 };

static FILE* file_of_one_line(void) {
  FILE* file = tmpfile();
  CHECK(file != NULL);
  for (int i = 0; i < kLine; ++i) fputc('x', file);
  fputc('\n', file);
  return file;
}

static void* read_lines(void* file) {
  for (;;) {
    char* lines[kLines] = {NULL};
    for (int i = 0; i < kLines; ++i) {
      size_t bytes = 0;
      rewind(file);
      if (getline(&lines[i], &bytes, file) < 0) abort();
    }
    for (int i = 0; i < kLines; ++i) free(lines[i]);
  }
  return NULL;
}

static void* flush_all(void* unused) {
  for (;;) {
    fflush(NULL);
    usleep(2000);
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_create(&thread, NULL, read_lines, file_of_one_line()) == 0);
  }
  CHECK(pthread_create(&thread, NULL, flush_all, NULL) == 0);
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      FILE* file = tmpfile();
      _exit(file != NULL && fputs("child", file) >= 0 && fclose(file) == 0 ? 0 : 1);
    }
    wait_for_child(child);
  }
  _exit(0);
}
