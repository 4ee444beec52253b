// SPDX-License-Identifier: MIT
// RLIMIT_AS, lowered while the program runs: threads, large buffers and libraries find room as they
// would under libc's malloc, all requests together are held to the limit, and what lived goes on.
// By each function that sets limits, in a child of its own.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include "child.h"
#include "interface.h"
#include "plugin.h"
#include "threads.h"

enum { kMiB = 1 << 20, kLimit = 200 * kMiB, kLive = 1000, kMost = kLimit / 1000 };

static const struct rlimit lower = {kLimit, RLIM_INFINITY};
static const struct rlimit64 lower64 = {kLimit, RLIM_INFINITY};
static int by_setrlimit(void) { return setrlimit(RLIMIT_AS, &lower); }
static int by_setrlimit64(void) { return setrlimit64(RLIMIT_AS, &lower64); }
static int by_prlimit(void) { return prlimit(0, RLIMIT_AS, &lower, NULL); }
static int by_prlimit64(void) { return prlimit64(getpid(), RLIMIT_AS, &lower64, NULL); }

static void* live[kLive];
static void* blocks[kMost];

static size_t size_of(size_t i) { return i * i / 20 + 1; }

static void* in_thread(void* number) {
  use_heap((uint64_t)(size_t)number, 300, 14);
  return NULL;
}

// MiB of requests of so many bytes that are granted before the first is not.
static size_t granted(size_t bytes) {
  size_t count = 0;
  while (count < kMost && (blocks[count] = malloc(bytes)) != NULL) {
    CHECK(malloc_usable_size(blocks[count]) >= bytes);
    *(size_t*)blocks[count] = count;
    ++count;
  }
  CHECK(count < kMost && errno == ENOMEM);
  for (size_t i = 0; i < count; ++i) {
    CHECK(*(size_t*)blocks[i] == i);
    free(blocks[i]);
  }
  return count * bytes / kMiB;
}

static void work(void) {
  pthread_t threads[4];
  start_threads(threads, 4, in_thread);
  join_threads(threads, 4);
  void* plugin = load_plugin("plain", RTLD_NOW);
  void* large[2];
  for (size_t i = 0; i < 2; ++i) {
    CHECK((large[i] = malloc(50 * kMiB)) != NULL);
    memset(large[i], 1, 50 * kMiB);
    CHECK(pktmalloc_class_bytes == NULL || pktmalloc_class_bytes(large[i]) == 0);
  }
  CHECK(malloc(120 * kMiB) == NULL && errno == ENOMEM);
  for (size_t i = 0; i < 2; ++i) free(large[i]);
  CHECK(dlclose(plugin) == 0);
}

static void lower_and_work(void) {
  for (size_t i = 0; i < kLive; ++i) {
    CHECK((live[i] = malloc(size_of(i))) != NULL);
    write_pattern(live[i], size_of(i), i);
  }
  CHECK(by_setrlimit() == 0);
  work();
  // Nothing of one size stays in the way of another.
  const size_t sizes[] = {20000, 1500, 60000, 3000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t mib = granted(sizes[i]);
    CHECK(mib > 50 && mib < kLimit / kMiB);
  }
  for (size_t i = 0; i < kLive; ++i) {
    CHECK(has_pattern(live[i], size_of(i), i));
    CHECK((live[i] = realloc(live[i], size_of(i) + i / 2)) != NULL);
    CHECK(has_pattern(live[i], size_of(i), i));
    if (i % 2 == 0) free(live[i]);
  }
  malloc_trim(0);  // what is free goes back by and by
  work();
  for (size_t i = 1; i < kLive; i += 2) free(live[i]);
}

static double reserved(void) {
  struct pktmalloc_statistics statistics = {0};
  if (pktmalloc_get_statistics != NULL) pktmalloc_get_statistics(&statistics, sizeof statistics);
  return (double)statistics.reserved_bytes;
}

int main(void) {
  mallopt(M_ARENA_MAX, 1);  // each takes 64 MiB of addresses
  free(malloc(100));
  struct rlimit before, old, now;
  CHECK(prlimit(0, RLIMIT_AS, NULL, &before) == 0 && before.rlim_cur == RLIM_INFINITY);
  CHECK(setrlimit((__rlimit_resource_t)99, &lower) == -1 && errno == EINVAL);
  CHECK(prlimit(0, RLIMIT_AS, &before, &old) == 0 && old.rlim_cur == RLIM_INFINITY);
  const double reserved_before = reserved();
  // The limit is the child's, the memory ours.
  const pid_t child = vfork();
  if (child == 0) _exit(setrlimit(RLIMIT_AS, &lower) != 0);
  wait_for_child(child);
  CHECK(getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == RLIM_INFINITY);
  CHECK(reserved() == reserved_before);

  int (*const ways[])(void) = {by_setrlimit, by_setrlimit64, by_prlimit, by_prlimit64};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    const pid_t lowering = fork();
    if (lowering == 0) {
      CHECK(ways[i]() == 0);
      work();
      _exit(0);
    }
    wait_for_child(lowering);
  }
  lower_and_work();
  // Raised again, it lets classes grow as before.
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  for (size_t i = 0; i < 20000; ++i) {
    void* const p = malloc(1500);  // stays
    CHECK(pktmalloc_class_bytes == NULL || pktmalloc_class_bytes(p) != 0);
  }
  return 0;
}
