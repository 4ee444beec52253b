// SPDX-License-Identifier: MIT
// `fault_handlers KIND`: a program that has plans of its own for SIGSEGV writes past the end of a
// guarded object. tests/sample_guard_test.cpp has the list.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/check.h"

static volatile char* object;
static char stack[8192];  // SIGSTKSZ of old
static sigjmp_buf before;
static volatile int calls;

// Guarded objects end at most 15 bytes before their page does, or begin at its beginning.
static void overrun(void) {
  for (long i = 100; i < 8192; ++i) object[i] = 1;
}

static void say(const char* text) { CHECK(write(STDOUT_FILENO, text, strlen(text)) > 0); }

static void ends(int number) {
  CHECK(number == SIGSEGV);
  say("handler\n");
  _exit(3);
}

static void ends_informed(int number, siginfo_t* info, void* context) {
  const char here = 0;
  CHECK(&here >= stack && &here < stack + sizeof stack);
  CHECK(context != NULL);
  CHECK((uintptr_t)info->si_addr - (uintptr_t)object < 8192);
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  CHECK(sigismember(&blocked, SIGUSR1) == 1 && sigismember(&blocked, SIGUSR2) == 0);
  ends(number);
}

static void jumps(int number) {
  (void)number;
  siglongjmp(before, 1);
}

static void counts(int number) {
  (void)number;
  ++calls;
  say("handler\n");
}

static void frees_twice(int number) {
  (void)number;
  free((void*)object);
  free((void*)object);
}

static void* overruns(void* unused) {
  overrun();
  return unused;
}

static void set(void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

int main(int count, char** arguments) {
  if (count < 2) return 0;
  const char* const kind = arguments[1];
  object = malloc(100);
  printf("%p\n", (void*)object);
  fflush(stdout);
  if (strcmp(kind, "none") == 0) {
    overrun();
  } else if (strcmp(kind, "simple") == 0) {
    CHECK(signal(SIGSEGV, ends) == SIG_DFL);
    overrun();
  } else if (strcmp(kind, "informed") == 0) {
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    CHECK(sigaltstack(&other, NULL) == 0);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = ends_informed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaddset(&action.sa_mask, SIGUSR1);
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    overrun();
  } else if (strcmp(kind, "once") == 0) {
    set(counts, (int)SA_RESETHAND);
    overrun();  // the second fault, of the same instruction, ends the program
  } else if (strcmp(kind, "jumps") == 0) {
    set(jumps, 0);
    if (sigsetjmp(before, 1) == 0) overrun();
    say("went on\n");
  } else if (strcmp(kind, "ignored") == 0) {
    CHECK(signal(SIGSEGV, SIG_IGN) == SIG_DFL);
    raise(SIGSEGV);
    say("went on\n");
    overrun();
  } else if (strcmp(kind, "asked") == 0) {
    struct sigaction found;
    CHECK(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
    set(ends, SA_NODEFER);
    CHECK(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == ends);
    CHECK(found.sa_flags == SA_NODEFER);
    CHECK(signal(SIGSEGV, SIG_DFL) == ends);
    CHECK(signal(SIGUSR1, ends) == SIG_DFL && signal(SIGUSR1, SIG_IGN) == ends);
    CHECK(signal(1000, ends) == SIG_ERR);
    say("went on\n");
  } else if (strcmp(kind, "not_ours") == 0) {
    set(ends, 0);
    *(volatile int*)8 = 1;
  } else if (strcmp(kind, "not_ours_unhandled") == 0) {
    *(volatile int*)8 = 1;
  } else if (strcmp(kind, "sent") == 0) {
    set(ends, 0);
    raise(SIGSEGV);
  } else if (strcmp(kind, "sent_unhandled") == 0) {
    raise(SIGSEGV);
  } else if (strcmp(kind, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) overrun();
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    free((void*)object);
    say("went on\n");
  } else if (strcmp(kind, "own_pages") == 0) {
    void* page = NULL;
    CHECK(posix_memalign(&page, 4096, 4096) == 0 && mprotect(page, 4096, PROT_READ) == 0);
    set(ends, 0);
    *(volatile char*)page = 1;
  } else if (strcmp(kind, "vfork") == 0) {
    set(ends, 0);
    const pid_t child = vfork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      _exit(0);
    }
    CHECK(waitpid(child, NULL, 0) == child);
    overrun();
  } else if (strcmp(kind, "system_v") == 0) {
    struct sigaction found;
    CHECK(__sysv_signal(SIGSEGV, ends) == SIG_DFL);
    CHECK(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == ends);
    CHECK(found.sa_flags == ((int)SA_RESETHAND | SA_NODEFER));
    CHECK(signal(SIGSEGV, SIG_ERR) == SIG_ERR);
    overrun();
  } else if (strcmp(kind, "calls_object") == 0) {
    ((void (*)(void))(uintptr_t)object)();
  } else if (strcmp(kind, "default_informed") == 0) {
    set(SIG_IGN, SA_SIGINFO);
    raise(SIGSEGV);
    say("went on\n");
    set(SIG_DFL, SA_SIGINFO);
    overrun();
  } else if (strcmp(kind, "thread") == 0) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, 65536) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, overruns, NULL) == 0);
    pthread_join(thread, NULL);
  } else if (strcmp(kind, "frees_in_handler") == 0) {
    signal(SIGUSR1, frees_twice);
    raise(SIGUSR1);
    say("went on\n");
  } else {
    CHECK(!"no such kind");
  }
  return 0;
}
