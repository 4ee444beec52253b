/* SPDX-License-Identifier: MIT */
/* A packet buffer's memory is there before the first packet comes. Runs without the library, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pktmalloc.h"

#pragma weak pktmalloc_reserve

enum { kPackets = 10000, kBytes = 1500 };
static void* packets[kPackets];

int main(void) {
  if (pktmalloc_reserve != NULL) {
    const int error = pktmalloc_reserve(kBytes, kPackets);
    if (error != 0) fprintf(stderr, "no memory in advance: %s\n", strerror(error));
  }
  for (int i = 0; i < kPackets; ++i) {
    packets[i] = malloc(kBytes);
    if (packets[i] == NULL) return 1;
    memset(packets[i], i, kBytes);
  }
  for (int i = 0; i < kPackets; ++i) free(packets[i]);
  printf("%d packets\n", kPackets);
  return 0;
}
