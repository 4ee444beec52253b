// SPDX-License-Identifier: MIT
// Whatever is done to what was reserved by PKTMALLOC_RESERVE and by a call.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "interface.h"

enum { kObjects = 60000, kBytes = 1500 };  // 86 MiB are 21,973 pages
static void* objects[kObjects];

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static void use_all(void) {
  for (int i = 0; i < kObjects; ++i) {
    CHECK((objects[i] = malloc(kBytes)) != NULL);
    memset(objects[i], 1, kBytes);
  }
}

static void free_all(void) {
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
}

static void* free_all_elsewhere(void* unused) {
  free_all();
  return unused;
}

int main(void) {
  const int by_variable = getenv("PKTMALLOC_RESERVE") != NULL ? kObjects / 2 : 0;
  CHECK(pktmalloc_reserve(kBytes, (size_t)(kObjects - by_variable)) == 0);
  memset(objects, 1, sizeof objects);
  const long before = faults();
  for (int round = 0; round < 3; ++round) {
    use_all();
    if (round == 0) {
      free_all();
    } else {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, free_all_elsewhere, NULL) == 0);
      CHECK(pthread_join(thread, NULL) == 0);
    }
    pktmalloc_trim();
  }
  CHECK(faults() - before < 3000);  // of the checked library's bookkeeping; 17 without

  struct pktmalloc_statistics s;
  CHECK(pktmalloc_get_statistics(&s, sizeof s) == sizeof s);
  CHECK(s.populated_bytes >= (uint64_t)kObjects * kBytes);
  CHECK(s.populated_bytes <= (uint64_t)kObjects * kBytes * 12 / 10);
  return 0;
}
