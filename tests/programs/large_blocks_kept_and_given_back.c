// SPDX-License-Identifier: MIT
// Linked with -static, where the largest blocks have mappings of their own: contents stay or are
// cleared as C has it, also among threads and in forked children, and little of what is freed
// stays.
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "child.h"
#include "resident.h"
#include "threads.h"

enum { kMiB = 1 << 20, kBlocks = 64, kThreads = 3, kForks = 20 };

static void zeroes_where_a_block_was(size_t bytes) {
  unsigned char* block = malloc(bytes);
  memset(block, 0xff, malloc_usable_size(block));
  free(block);
  block = calloc(bytes, 1);
  CHECK(*block == 0 && memcmp(block, block + 1, bytes - 1) == 0);
  free(block);
}

static void aligns_where_a_block_was(size_t alignment) {
  free(malloc(kMiB));
  void* block = aligned_alloc(alignment, kMiB);
  CHECK(block != NULL && (uintptr_t)block % alignment == 0);
  free(block);
}

static void touches_nothing_that_is_fresh(void) {
  void* blocks[kBlocks];
  malloc_trim(0);
  const double before = resident_mib();
  for (int i = 0; i < kBlocks; ++i) CHECK((blocks[i] = calloc(1, kMiB)) != NULL);
  CHECK(resident_mib() < before + 2);
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

static void keeps_little(size_t bytes) {
  void* blocks[kBlocks];
  malloc_trim(0);
  const double before = resident_mib();
  for (int i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(bytes)) != NULL);
    memset(blocks[i], 1, bytes);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  CHECK(resident_mib() < before + 66);
  CHECK(malloc_trim(0) == 1 && malloc_trim(0) == 0);
  CHECK(resident_mib() < before + 2);
}

// Each word tells its place.
static void fill(uint32_t* words, size_t bytes) {
  for (size_t i = 0; i < bytes / 4; ++i) words[i] = (uint32_t)i * 2654435761u;
}

static void keeps_contents(uint32_t* words, size_t bytes) {
  for (size_t i = 0; i < bytes / 4; ++i) CHECK(words[i] == (uint32_t)i * 2654435761u);
}

static void keeps_contents_when_resized(void) {
  const size_t sizes[] = {300000, 5 * kMiB, 5 * kMiB + 1, 400000, 1000, 9 * kMiB, 270000, 20};
  size_t bytes = 3 * kMiB;
  uint32_t* words = aligned_alloc(2 * kMiB, bytes);
  CHECK(words != NULL && (uintptr_t)words % (2 * kMiB) == 0);
  for (int i = 0; i < 8; ++i) {
    fill(words, bytes);
    CHECK((words = realloc(words, sizes[i])) != NULL);
    keeps_contents(words, bytes < sizes[i] ? bytes : sizes[i]);
    bytes = sizes[i];
  }
  free(words);
}

// The system moves no mapping of which a part is unlike the rest.
static void keeps_contents_that_are_advised(void) {
  uint32_t* words = aligned_alloc(4096, kMiB);
  fill(words, kMiB);
  CHECK(madvise((char*)words + kMiB / 2, 65536, MADV_DONTDUMP) == 0);
  CHECK((words = realloc(words, 2 * kMiB)) != NULL);
  keeps_contents(words, kMiB);
  free(words);
}

static volatile int stop;

static void* churn(void* number) {
  uint64_t seed = (uint64_t)(size_t)number;
  while (!stop) use_heap(++seed, 30, 21);
  return NULL;
}

static void serves_threads_and_children(void) {
  pthread_t threads[kThreads];
  start_threads(threads, kThreads, churn);
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      use_heap((uint64_t)i, 30, 21);
      _exit(0);
    }
    wait_for_child(child);
  }
  stop = 1;
  join_threads(threads, kThreads);
}

int main(void) {
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);  // huge pages would be all that is measured
  for (size_t bytes = 300000; bytes < 50 * kMiB; bytes *= 3) zeroes_where_a_block_was(bytes);
  for (size_t alignment = 16 * kMiB; alignment > 8; alignment /= 2) {
    aligns_where_a_block_was(alignment);
  }
  touches_nothing_that_is_fresh();
  keeps_little(300000);
  keeps_little(5 * kMiB);
  keeps_contents_when_resized();
  keeps_contents_that_are_advised();
  serves_threads_and_children();
  return 0;
}
