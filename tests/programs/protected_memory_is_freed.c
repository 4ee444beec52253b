// SPDX-License-Identifier: MIT
// Frees large memory that the program has protected from writes, or from all access.
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"

int main(void) {
  const size_t sizes[] = {200 << 10, 1 << 20, 40 << 20};
  const int protections[] = {PROT_READ, PROT_NONE};
  void* blocks[6];
  for (int i = 0; i < 6; ++i) {
    blocks[i] = aligned_alloc(4096, sizes[i % 3]);
    CHECK(blocks[i] != NULL && mprotect(blocks[i], sizes[i % 3], protections[i / 3]) == 0);
  }
  for (int i = 0; i < 6; ++i) free(blocks[i]);
}
