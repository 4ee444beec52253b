// SPDX-License-Identifier: MIT
// Under a limit glibc still learns what to keep: once a block aligned to a MiB was freed, smaller
// ones have no mappings of their own.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"

enum { kBlocks = 64, kAlignment = 128 << 10 };

int main(void) {
  void* const large = aligned_alloc(8 * kAlignment, 8 * kAlignment);
  CHECK(large != NULL);
  free(large);
  for (int i = 0; i < kBlocks; ++i) CHECK(aligned_alloc(kAlignment, kAlignment) != NULL);
  CHECK(mallinfo2().hblks < kBlocks / 2);
  return 0;
}
