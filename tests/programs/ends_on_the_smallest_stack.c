// SPDX-License-Identifier: MIT
// What tells of the heap fits on a stack of PTHREAD_STACK_MIN, as libc's does, and so does the end
// of the process: a thread with such a stack looks at the heap, leaks and calls exit.
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "interface.h"

static char json[100000];
static void* volatile leaked;

static void* run(void* unused) {
  (void)unused;
  for (size_t bytes = 1; bytes <= 3 << 20; bytes += bytes / 3 + 1) {
    void* block = realloc(malloc(bytes), bytes * 2);
    CHECK(block != NULL);
    free(block);
    free(aligned_alloc(256, bytes));
    leaked = calloc(1, bytes);
  }
  malloc_stats();
  CHECK(mallinfo2().uordblks > 0);
  CHECK(malloc_info(0, stdout) == 0);
  malloc_trim(0);
  if (pktmalloc_version != NULL) {
    struct pktmalloc_statistics statistics;
    pktmalloc_get_statistics(&statistics, sizeof statistics);
    CHECK(statistics.allocated_bytes > 0);
    CHECK(pktmalloc_statistics_json(json, sizeof json) > 1000);
  }
  exit(5);
}

int main(void) {
  // Below it a page that nobody may touch.
  const size_t page = 4096;
  char* memory = mmap(NULL, page + PTHREAD_STACK_MIN, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstack(&attributes, memory + page, PTHREAD_STACK_MIN) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
  pthread_join(thread, NULL);
  return 1;
}
