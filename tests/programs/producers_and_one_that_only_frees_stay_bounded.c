// SPDX-License-Identifier: MIT
// Sixteen threads keep a fixed number of objects of 592 bytes each and replace them at random; what
// they replace is freed by one more thread, which never allocates (mimalloc's issue 1364: 437 MiB
// became 1.8 GiB).
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pattern.h"
#include "random.h"
#include "resident.h"
#include "threads.h"

enum { kProducers = 16, kBytes = 592, kKept = 6000, kQueue = 256, kReplaced = 8 * kKept };

// Of one producer: it writes at `put`, the freeing thread reads at `got`.
struct Queue {
  void* objects[kQueue];
  atomic_size_t put, got;
};
static struct Queue queues[kProducers];
static atomic_int producing = kProducers;

static void* produced(size_t owner) {
  void* object = malloc(kBytes);
  CHECK(object != NULL);
  write_pattern(object, kBytes, owner);
  return object;
}

static void pass_on(struct Queue* queue, void* object) {
  const size_t put = atomic_load_explicit(&queue->put, memory_order_relaxed);
  while (put - atomic_load_explicit(&queue->got, memory_order_acquire) == kQueue) sched_yield();
  queue->objects[put % kQueue] = object;
  atomic_store_explicit(&queue->put, put + 1, memory_order_release);
}

static void* produce(void* number) {
  const size_t owner = (size_t)number;
  static __thread void* kept[kKept];
  uint64_t random = owner + 1;
  for (int i = 0; i < kKept; ++i) kept[i] = produced(owner);
  for (int i = 0; i < kReplaced; ++i) {
    void** place = &kept[next_random(&random) % kKept];
    pass_on(&queues[owner], *place);
    *place = produced(owner);
  }
  for (int i = 0; i < kKept; ++i) pass_on(&queues[owner], kept[i]);
  atomic_fetch_sub(&producing, 1);
  return NULL;
}

static size_t free_all_of(size_t owner) {
  struct Queue* queue = &queues[owner];
  const size_t put = atomic_load_explicit(&queue->put, memory_order_acquire);
  const size_t got = atomic_load_explicit(&queue->got, memory_order_relaxed);
  for (size_t i = got; i != put; ++i) {
    void* object = queue->objects[i % kQueue];
    CHECK(has_pattern(object, kBytes, owner));
    free(object);
  }
  atomic_store_explicit(&queue->got, put, memory_order_release);
  return put - got;
}

static void* free_all(void* unused) {
  (void)unused;
  for (int last = 0; !last;) {
    last = atomic_load(&producing) == 0;
    size_t freed = 0;
    for (size_t owner = 0; owner < kProducers; ++owner) freed += free_all_of(owner);
    if (freed == 0) sched_yield();
  }
  return NULL;
}

int main(void) {
  const double before = resident_mib();
  pthread_t producers[kProducers], freeing;
  CHECK(pthread_create(&freeing, NULL, free_all, NULL) == 0);
  start_threads(producers, kProducers, produce);
  join_threads(producers, kProducers);
  CHECK(pthread_join(freeing, NULL) == 0);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  // New memory is taken only when no magazine waits in the depot: everything is then kept, in a
  // queue, or with a thread, in its two magazines of 256 or one on its way. A fifth more for the
  // class above 592 bytes and the kept tables, and 2 MiB for stacks and what is committed ahead.
  const double objects = kProducers * (kKept + kQueue) + (kProducers + 1) * 3 * 256;
  CHECK((double)usage.ru_maxrss / 1024 - before < objects * kBytes * 1.2 / (1 << 20) + 2);
  return 0;
}
