// SPDX-License-Identifier: MIT
// Threads whose stacks lie where larger ones of others were, and calls at the same addresses below
// frames of other sizes: what was known of a stack there holds no more.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

enum { kLarge = 128 << 10, kSmall = 96 << 10, kFrame = 40000 };

static uintptr_t wanted;

__attribute__((noinline)) static void allocate(void) {
  for (int i = 0; i < 3; ++i) free(malloc(24));
}

__attribute__((noinline)) static void allocate_below(size_t bytes) {
  volatile char* const room = alloca(bytes);
  room[0] = 1;
  allocate();
  room[0] = 2;
}

static void* work(void* is_first) {
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (is_first != NULL) wanted = here - kFrame;
  allocate_below(here - wanted);
  return NULL;
}

static void run_on(void* stack, size_t bytes, void* is_first) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstack(&attributes, stack, bytes) == 0);
  CHECK(pthread_create(&thread, &attributes, work, is_first) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(void) {
  const int all = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char* const stack = mmap(NULL, kLarge, all, flags, -1, 0);
  CHECK(stack != MAP_FAILED);
  run_on(stack, kLarge, stack);
  munmap(stack, kLarge);
  CHECK(mmap(stack, kSmall, all, flags | MAP_FIXED_NOREPLACE, -1, 0) == stack);
  run_on(stack, kSmall, NULL);
  return 0;
}
