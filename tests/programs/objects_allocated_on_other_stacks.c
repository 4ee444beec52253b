// SPDX-License-Identifier: MIT
// A function whose frame varies allocates with a large frame on one stack, then with a small one on
// another, which ends nearby: a coroutine, a signal's alternate stack, and a thread's own stack
// after a coroutine. Whoever follows return addresses must not run over the end.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

enum { kSmall = 64 << 10, kGap = 1 << 20, kFrame = 300000 };

static void* volatile sink;

__attribute__((noinline)) static void allocate(void) {
  sink = malloc(100);
  free(sink);
}

__attribute__((noinline)) static void vary(size_t bytes) {
  char* volatile frame = alloca(bytes);
  frame[0] = 1;
  allocate();
  frame[bytes - 1] = 2;
}

static void go_deep(void) {
  for (int i = 0; i < 3; ++i) vary(kFrame);
}

static void stay_flat(void) {
  for (int i = 0; i < 3; ++i) vary(64);
}

// With addresses on both sides that nobody may touch.
static char* lone_stack(size_t bytes) {
  char* const all = mmap(NULL, bytes + 2 * kGap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(all != MAP_FAILED);
  CHECK(mprotect(all + kGap, bytes, PROT_READ | PROT_WRITE) == 0);
  return all + kGap;
}

static void run_coroutine(void (*function)(void), char* stack, size_t bytes) {
  static __thread ucontext_t caller, coroutine;
  CHECK(getcontext(&coroutine) == 0);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = bytes;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, function, 0);
  CHECK(swapcontext(&caller, &coroutine) == 0);
}

static void handle(int signal) {
  (void)signal;
  stay_flat();
}

static void* run_thread(void* high) {
  run_coroutine(go_deep, high, 4 * kGap);
  stay_flat();
  return NULL;
}

int main(void) {
  go_deep();
  run_coroutine(stay_flat, lone_stack(kSmall), kSmall);

  const stack_t alternate = {.ss_sp = lone_stack(kSmall), .ss_size = kSmall};
  CHECK(sigaltstack(&alternate, NULL) == 0);
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  go_deep();
  CHECK(raise(SIGUSR1) == 0);

  char* const high = lone_stack(4 * kGap);
  char* const low = lone_stack(4 * kSmall);
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, low, 4 * kSmall) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, run_thread, high) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
