// SPDX-License-Identifier: MIT
// Run under a limit of address space that makes areas small: more objects of one size than its
// area holds.
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

enum { kObjects = 100000, kBytes = 1500 };

int main(void) {
  static void* objects[kObjects];
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
  // 64 MiB hold 43690 objects of 1536 bytes; up to a sixteenth is colour.
  CHECK(pooled > 40900 && pooled < 43691);
  CHECK(pooled + passed == kObjects);
  CHECK(pktmalloc_class_bytes(malloc(kBytes)) == 1536);
  return 0;
}
