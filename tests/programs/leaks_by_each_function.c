// SPDX-License-Identifier: MIT
// One object each by the functions that allocate, small and large, and by a realloc that moves one
// within the next allocator or into the pool.
#include <stdlib.h>

enum { kSmall = 100, kLarge = 300000 };

void* volatile held;

#define LEAK(name, call)                                                                \
  __attribute__((noinline, optimize("no-omit-frame-pointer"))) static void name(void) { \
    held = call;                                                                        \
  }

LEAK(by_malloc, malloc(kSmall))
LEAK(by_large_malloc, malloc(kLarge))
LEAK(by_calloc, calloc(1, kSmall))
LEAK(by_large_calloc, calloc(1, kLarge))
LEAK(by_aligned_alloc, aligned_alloc(64, 128))
LEAK(by_large_aligned_alloc, aligned_alloc(64, 64 * 5000))
LEAK(by_realloc, realloc(malloc(kSmall), 3 * kSmall))
LEAK(by_large_realloc, realloc(malloc(kLarge), 2 * kLarge))
LEAK(by_shrinking_realloc, realloc(malloc(kLarge), kSmall))

__attribute__((optimize("no-omit-frame-pointer"))) int main(void) {
  by_malloc();
  by_large_malloc();
  by_calloc();
  by_large_calloc();
  by_aligned_alloc();
  by_large_aligned_alloc();
  by_realloc();
  by_large_realloc();
  by_shrinking_realloc();
  return 0;
}
