// SPDX-License-Identifier: MIT
// Objects that come and go in batches are those of malloc and free: of all sizes, mixed with
// others' and with null, in other threads, and as many as there is memory for.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "interface.h"
#include "random.h"
#include "resident.h"

enum { kMost = 3000 };
static void* objects[kMost];

static void take(size_t bytes, size_t count) {
  memset(objects, 0, sizeof objects);
  CHECK(pktmalloc_allocate_batch(bytes, count, objects) == count);
  for (size_t i = count; i < kMost; ++i) CHECK(objects[i] == NULL);
}

static void write_all(size_t bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    CHECK(objects[i] != NULL && (size_t)objects[i] % 16 == 0);
    CHECK(malloc_usable_size(objects[i]) >= bytes);
    if (bytes >= sizeof i) memcpy(objects[i], &i, sizeof i);
    if (bytes > sizeof i) memset((char*)objects[i] + bytes - 1, (int)i, 1);
  }
  for (size_t i = 0; i < count; ++i) {
    if (bytes >= sizeof i) CHECK(memcmp(objects[i], &i, sizeof i) == 0);
    if (bytes > sizeof i) CHECK(((unsigned char*)objects[i])[bytes - 1] == (unsigned char)i);
  }
}

static void all_sizes_and_counts(void) {
  static const size_t sizes[] = {0,    1,    8,     16,    64,     100,       1000,
                                 1500, 4096, 20000, 32768, 100000, 256 << 10, 300000};
  static const size_t counts[] = {1, 2, 31, 32, 257, kMost};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
      const size_t bytes = sizes[s], count = bytes > 20000 ? counts[c] % 64 : counts[c];
      take(bytes, count);
      write_all(bytes, count);
      if (c % 2 == 0) {
        for (size_t i = 0; i < count; ++i) free(objects[i]);
      } else {
        pktmalloc_release_batch(objects, count);
      }
    }
  }
}

static void nothing(void) {
  CHECK(pktmalloc_allocate_batch(64, 0, NULL) == 0);
  pktmalloc_release_batch(NULL, 0);
  void* nulls[3] = {NULL, NULL, NULL};
  pktmalloc_release_batch(nulls, 3);
}

static void single_and_foreign_ones(void) {
  void* (*foreign)(size_t) =
      (void* (*)(size_t))dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "malloc");
  CHECK(foreign != NULL);
  uint64_t random = 1;
  for (int round = 0; round < 60; ++round) {
    for (size_t i = 0; i < kMost; ++i) {
      const size_t bytes = next_random(&random) % 2000;
      const unsigned kind = next_random(&random) % 16;
      objects[i] = kind == 0   ? NULL
                   : kind == 1 ? foreign(bytes)
                   : kind == 2 ? aligned_alloc(64, 64)
                               : malloc(kind < 8 ? 640 : bytes);
    }
    void* copy[kMost];
    memcpy(copy, objects, sizeof copy);
    errno = 4711;
    pktmalloc_release_batch(objects, kMost);
    CHECK(errno == 4711);
    CHECK(memcmp(copy, objects, sizeof copy) == 0);
  }
  CHECK(resident_mib() < 100);
}

static void* release_all(void* count) {
  pktmalloc_release_batch(objects, *(size_t*)count);
  return NULL;
}

static void other_threads(void) {
  size_t count = kMost;
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    take(1500, count);
    CHECK(pthread_create(&thread, NULL, release_all, &count) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CHECK(resident_mib() < 100);
}

static void refused(void) {
  void* one = objects;
  errno = 0;
  CHECK(pktmalloc_allocate_batch(SIZE_MAX, 1, &one) == 0 && errno == ENOMEM);
  errno = 0;
  CHECK(pktmalloc_allocate_batch((size_t)PTRDIFF_MAX + 1, SIZE_MAX, &one) == 0 && errno == ENOMEM);
  // Room for some, not for all.
  const struct rlimit limit = {(rlim_t)16 << 30, (rlim_t)16 << 30};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  errno = 0;
  const size_t count = pktmalloc_allocate_batch(256 << 20, kMost, objects);
  CHECK(count > 0 && count < 64 && errno == ENOMEM);
  for (size_t i = 0; i < count; ++i) memset(objects[i], (int)i, 100);
  pktmalloc_release_batch(objects, count);
  CHECK(pktmalloc_allocate_batch(256 << 20, count, objects) == count);
  pktmalloc_release_batch(objects, count);
  take(64, kMost);
  write_all(64, kMost);
  pktmalloc_release_batch(objects, kMost);
}

int main(void) {
  nothing();
  all_sizes_and_counts();
  single_and_foreign_ones();
  other_threads();
  refused();
  return 0;
}
