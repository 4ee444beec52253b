// SPDX-License-Identifier: MIT
// Thousands of threads, or as many as the argument says, four at a time: what one leaves, the next
// takes.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interface.h"
#include "resident.h"
#include "threads.h"

enum { kAtOnce = 4, kSizes = 20, kOfEachSize = 15, kObjects = kSizes * kOfEachSize };

static void* work(void* unused) {
  (void)unused;
  void* blocks[kObjects];
  for (int i = 0; i < kObjects; ++i) {
    CHECK((blocks[i] = malloc((size_t)(i % kSizes + 1) * 100)) != NULL);
    memset(blocks[i], 1, (size_t)(i % kSizes + 1) * 100);
  }
  for (int i = 0; i < kObjects; ++i) free(blocks[i]);
  return NULL;
}

static void start_and_end(long count) {
  for (long i = 0; i < count; i += kAtOnce) {
    pthread_t threads[kAtOnce];
    start_threads(threads, kAtOnce, work);
    join_threads(threads, kAtOnce);
  }
}

int main(int argc, char** argv) {
  const long before = 1000, threads = argc > 1 ? atol(argv[1]) : 5000;
  start_and_end(before);
  const double resident = resident_mib();
  start_and_end(threads - before);
  // Whoever ends leaves as much as is taken by whoever starts, so the first thousand and the last
  // differ by what four threads hold at most: 20 sizes of 1 KiB on average, and of each the 15
  // objects in use, rounded up to two magazines of 32: 5 MiB.
  const double held = kAtOnce * kSizes * 2 * 32 * 1.05 / 1024;
  CHECK(resident_mib() - resident < held);
  CHECK(resident_mib() < 40);
  if (pktmalloc_get_statistics == NULL) return 0;
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  CHECK(statistics.threads_seen == (uint64_t)threads + 1);
  CHECK(statistics.threads_alive == 1);
  return 0;
}
