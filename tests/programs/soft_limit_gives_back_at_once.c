// SPDX-License-Identifier: MIT
// With PKTMALLOC_SOFT_LIMIT=32MiB, and ageing that takes an hour: memory that the program frees is
// back with the system when the last free returns, but for what lies below the limit.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kPackets = 90000, kBlocks = 64, kBlockBytes = 2 << 20 };

static char* packets[kPackets];
static char* blocks[kBlocks];

int main(void) {
  const double before = resident_mib();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kPackets; ++i) {
      packets[i] = malloc(1500);
      CHECK(packets[i] != NULL);
      memset(packets[i], 1, 1500);
    }
    CHECK(resident_mib() > before + 125);
    for (int i = 0; i < kPackets; ++i) free(packets[i]);
    CHECK(resident_mib() < before + 40);
    for (int i = 0; i < kBlocks; ++i) {
      blocks[i] = malloc(kBlockBytes);
      CHECK(blocks[i] != NULL);
      memset(blocks[i], 1, kBlockBytes);
    }
    CHECK(resident_mib() > before + 125);
    for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
    CHECK(resident_mib() < before + 40);
  }
  return 0;
}
