// SPDX-License-Identifier: MIT
// C23's free_sized and free_aligned_sized, which this glibc does not have.
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "resident.h"

void free_sized(void*, size_t) __attribute__((weak));
void free_aligned_sized(void*, size_t, size_t) __attribute__((weak));

static uint64_t live_bytes(void) {
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics.allocated_bytes;
}

int main(void) {
  CHECK(free_sized != NULL && free_aligned_sized != NULL);
  const uint64_t before = live_bytes();
  const double resident = resident_mib();
  for (int i = 0; i < 10000; ++i) {
    const size_t bytes = (size_t)i % 5000;
    errno = 4711;
    free_sized(malloc(bytes), bytes);
    free_aligned_sized(aligned_alloc(256, bytes), 256, bytes);
    if (i % 10 == 0) {
      char* large = malloc(8 << 20);
      large[0] = 1;
      free_sized(large, 8 << 20);
    }
    CHECK(errno == 4711);
  }
  CHECK(live_bytes() == before);
  CHECK(resident_mib() - resident < 40);
  return 0;
}
