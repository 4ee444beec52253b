// SPDX-License-Identifier: MIT
// Another library's fork handlers may allocate, free and ask for numbers, also when they were
// registered before the first request of the process and so run while the allocator's own locks are
// held.
#include <malloc.h>
#include <pthread.h>

#include "child.h"

enum { kObjects = 2000 };

static void* kept[kObjects];
static int prepared, parents;

static void use_all_sizes(void) {
  for (int i = 0; i < kObjects; ++i) {
    free(kept[i]);
    kept[i] = malloc((size_t)(i * 37 % 3000 + 1));
    if (kept[i] == NULL) _exit(9);
    memset(kept[i], i, (size_t)(i * 37 % 3000 + 1));
  }
  malloc_trim(0);
  (void)mallinfo2();
}

static void in_parent(void) {
  use_all_sizes();
  ++parents;
}

static void before(void) {
  use_all_sizes();
  ++prepared;
}

// Before every constructor, the allocator's too.
static void register_handlers(void) { pthread_atfork(before, in_parent, use_all_sizes); }
__attribute__((section(".preinit_array"), used)) static void (*at_start)(void) = register_handlers;

static void* wait_for_ever(void* unused) {
  pause();
  return unused;
}

int main(void) {
  for (int i = 0; i < 10; ++i) {
    if (i == 5) {  // from here on with two threads
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
    }
    const pid_t child = fork();
    if (child == 0) {
      use_heap((uint64_t)i, 500, 12);
      _exit(0);
    }
    wait_for_child(child);
    use_heap((uint64_t)i, 500, 12);
  }
  CHECK(prepared == 10 && parents == 10);
  return 0;
}
