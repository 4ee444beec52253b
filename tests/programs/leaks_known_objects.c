// SPDX-License-Identifier: MIT
// Functions that each leave objects behind, in every way there is to allocate one; profile_test.cpp
// knows how many bytes. The program has one thread and ends by exit.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

static void* kept[2000];
static int count;

static void keep(void* p) {
  CHECK(p != NULL);
  kept[count++] = p;
}

#define KNOWN __attribute__((noinline, noclone)) void

KNOWN leak_by_malloc(void) {
  for (int i = 0; i < 100; ++i) keep(malloc(100));
}
KNOWN leak_by_calloc(void) {
  for (int i = 0; i < 20; ++i) keep(calloc(10, 77));
}
KNOWN leak_by_realloc(void) {
  for (int i = 0; i < 5; ++i) keep(realloc(malloc(40), 5000));
}
KNOWN leak_grown_in_place(void) {
  for (int i = 0; i < 30; ++i) {
    void* p = malloc(90);
    for (size_t bytes = 91; bytes <= 96; ++bytes) p = realloc(p, bytes);
    keep(p);
  }
}
KNOWN leak_aligned(void) {
  void* p = NULL;
  CHECK(posix_memalign(&p, 64, 777) == 0);
  keep(p);
  keep(aligned_alloc(4096, 8192));
  keep(memalign(32, 33));
}
KNOWN leak_large(void) { keep(malloc(3000000)); }
// Not float, as a demangler has it.
KNOWN f(void) { free(malloc(333)); }
KNOWN leak_nothing(void) {
  for (int i = 0; i < 10000; ++i) free(realloc(malloc(200), 900));
  for (int i = 0; i < 500; ++i) keep(malloc(60));
  for (int i = 0; i < 500; ++i) free(kept[--count]);
}

int main(void) {
  leak_by_malloc();
  leak_by_calloc();
  leak_by_realloc();
  leak_grown_in_place();
  leak_aligned();
  leak_large();
  leak_nothing();
  f();
  return 0;
}
