// SPDX-License-Identifier: MIT
// ends_as_told HOW...: holds 1000 objects of 5000 bytes, makes and frees 1000 of 100, and ends as
// the last word says: by a function, by a signal, or by a signal from outside. Words before it say
// what it does meanwhile. recording_test.cpp knows the numbers.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static void* volatile held;

#define KNOWN __attribute__((noinline, noclone)) void

KNOWN hold_some(int count) {
  for (int i = 0; i < count; ++i) {
    char* p = malloc(5000);
    CHECK(p != NULL);
    memset(p, 1, 5000);
    held = p;
  }
}

// The numbers of a child must not get into those of its parent.
KNOWN waste_in_child(void) {
  for (int i = 0; i < 20000; ++i) {
    held = malloc(3000);
    if (i % 2 == 0) free(held);
  }
}

static void wait_for(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

KNOWN hold_for_a_while(void) {
  static void* some[500];
  for (int i = 0; i < 500; ++i) CHECK((some[i] = malloc(6000)) != NULL);
  for (int i = 0; i < 500; ++i) free(some[i]);
}

KNOWN hold_deep(int depth) {
  held = malloc(900);
  if (depth > 1) hold_deep(depth - 1);
  CHECK(held != NULL);
}

static void* work(void* unused) {
  for (int i = 0; i < 250; ++i) held = malloc(700);
  return unused;
}

static void meanwhile(const char* what) {
  pid_t child = -1;
  if (strcmp(what, "peak") == 0) {
    hold_for_a_while();
    return;
  }
  if (strcmp(what, "deep") == 0) {
    hold_deep(150);
    return;
  }
  if (strcmp(what, "fork") == 0) {
    child = fork();
  } else if (strcmp(what, "raw_fork") == 0) {
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  } else if (strcmp(what, "threads") == 0) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    return;
  }
  if (child == 0) {
    waste_in_child();
    _exit(0);
  }
  wait_for(child);
}

static void leave(int unused) {
  (void)unused;
  _exit(3);
}

int main(int count, char** words) {
  CHECK(count > 1);
  hold_some(1000);
  for (int i = 0; i < 1000; ++i) free(malloc(100));
  for (int i = 1; i < count - 1; ++i) meanwhile(words[i]);
  const char* const how = words[count - 1];
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "_Exit") == 0) _Exit(3);
  if (strcmp(how, "quick_exit") == 0) quick_exit(3);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "SIGINT") == 0) raise(SIGINT);
  if (strcmp(how, "SIGTERM") == 0) raise(SIGTERM);
  if (strcmp(how, "SIGKILL") == 0) raise(SIGKILL);
  if (strcmp(how, "SIGSEGV") == 0) *(volatile int*)16 = 1;
  if (strcmp(how, "out_of_memory") == 0) {
    for (;;) hold_some(1000);
  }
  if (strcmp(how, "_exit_in_a_handler") == 0) {
    signal(SIGTERM, leave);
  }
  for (;;) pause();
}
