// SPDX-License-Identifier: MIT
// Large blocks are freed below one that stays, or shrink, when the background thread has nothing to
// do. (With PKTMALLOC_BACKGROUND=1; a short PKTMALLOC_AGE.)
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kBlocks = 100, kBytes = 300000, kLarger = 10 * kBytes };

int main(void) {
  free(malloc(100));  // starts the thread
  sleep_ms(300);
  const double before = resident_mib();
  static void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(kBytes)) != NULL);
    memset(blocks[i], 1, kBytes);
  }
  for (int i = 0; i + 1 < kBlocks; ++i) free(blocks[i]);
  while (resident_mib() > before + 5) sleep_ms(20);
  free(blocks[kBlocks - 1]);
  for (int i = 0; i < kBlocks / 10; ++i) {
    CHECK((blocks[i] = malloc(kLarger)) != NULL);
    memset(blocks[i], 1, kLarger);
  }
  for (int i = 0; i < kBlocks / 10; ++i) CHECK((blocks[i] = realloc(blocks[i], kBytes)) != NULL);
  while (resident_mib() > before + 10) sleep_ms(20);
  return 0;
}
