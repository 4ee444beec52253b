// SPDX-License-Identifier: MIT
// Bursts in C. The functions are declared weak, so that the program also runs without the library.
#include <pktmalloc.h>
#include <stdio.h>
#include <stdlib.h>

#pragma weak pktmalloc_allocate_batch
#pragma weak pktmalloc_release_batch

enum { kBurst = 32 };

static size_t take(size_t bytes, size_t count, void** packets) {
  if (pktmalloc_allocate_batch) return pktmalloc_allocate_batch(bytes, count, packets);
  for (size_t i = 0; i < count; ++i) {
    if (!(packets[i] = malloc(bytes))) return i;
  }
  return count;
}

static void give_back(void* const* packets, size_t count) {
  if (pktmalloc_release_batch) {
    pktmalloc_release_batch(packets, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) free(packets[i]);
}

int main(void) {
  void* packets[kBurst];
  size_t taken = 0;
  for (int round = 0; round < 1000; ++round) {
    const size_t count = take(1500, kBurst, packets);  // fewer only if there is no memory
    taken += count;
    give_back(packets, count);
  }
  printf("%zu\n", taken);
  return 0;
}
