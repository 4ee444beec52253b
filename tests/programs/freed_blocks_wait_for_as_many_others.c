// SPDX-License-Identifier: MIT
// Of freed blocks as much waits as lives, so those that are replaced fault no page again; little
// stays of the last ones.
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "check.h"
#include "resident.h"

enum { kBlocks = 24, kBytes = 8 << 20 };

int main(void) {
  CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);  // huge pages would be all that is measured
  char* blocks[kBlocks];
  const double before = resident_mib();
  for (int i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(kBytes)) != NULL);
    memset(blocks[i], 1, kBytes);
  }
  const double all = resident_mib();
  for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
  CHECK(resident_mib() > all - 1);
  for (int i = 1; i < kBlocks; i += 2) free(blocks[i]);
  CHECK(resident_mib() < before + 66);
  return 0;
}
