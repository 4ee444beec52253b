// SPDX-License-Identifier: MIT
// Somebody else's mapping lies behind the pool's units, so that it cannot grow: whatever it has not
// got, the next allocator has.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

enum { kObjects = 100000, kBytes = 1500 };

static char* end_of_mapping_with(const void* p) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  char *begin, *end = NULL, line[512];
  while (fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%p-%p", (void**)&begin, (void**)&end) == 2 && begin <= (char*)p &&
        (char*)p < end) {
      break;
    }
  }
  fclose(maps);
  return end;
}

int main(void) {
  if (pktmalloc_version == NULL) return 0;
  static void* objects[kObjects];
  char* const end = end_of_mapping_with(malloc(kBytes));
  CHECK(mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == end);
  int pooled = 0, passed = 0;
  for (int round = 0; round < 2; ++round) {
    pooled = passed = 0;
    for (int i = 0; i < kObjects; ++i) {
      CHECK((objects[i] = malloc(kBytes)) != NULL);
      ++*(pktmalloc_class_bytes(objects[i]) > 0 ? &pooled : &passed);
      write_pattern(objects[i], kBytes, (uint64_t)i);
    }
    for (int i = 0; i < kObjects; ++i) CHECK(has_pattern(objects[i], kBytes, (uint64_t)i));
    struct pktmalloc_statistics statistics;
    pktmalloc_get_statistics(&statistics, sizeof statistics);
    CHECK(statistics.passed >= (uint64_t)passed * (round + 1));
    for (int i = 0; i < kObjects; ++i) free(objects[i]);
  }
  CHECK(pooled > 0 && passed > 0 && pooled + passed == kObjects);
  CHECK(pktmalloc_class_bytes(malloc(kBytes)) == 1536);
  return 0;
}
