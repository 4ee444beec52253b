// SPDX-License-Identifier: MIT
// A program in C that is linked with pktmalloc: malloc is served by it, and pktmalloc.h tells more.
#include <pktmalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  if (strcmp(pktmalloc_version(), PKTMALLOC_VERSION) != 0) return 1;

  enum { kPackets = 20000, kBytes = 1500 };
  static void* packets[kPackets];
  for (int i = 0; i < kPackets; ++i) {
    packets[i] = malloc(kBytes);
    if (pktmalloc_class_bytes(packets[i]) < kBytes) return 2;
    memset(packets[i], 1, kBytes);
  }

  struct pktmalloc_statistics statistics;
  if (pktmalloc_get_statistics(&statistics, sizeof statistics) < sizeof statistics) return 3;
  if (statistics.allocated_bytes < (uint64_t)kPackets * kBytes) return 4;
  if (statistics.allocs - statistics.frees < kPackets) return 5;

  for (int i = 0; i < kPackets; ++i) free(packets[i]);
  if (pktmalloc_trim() < (size_t)kPackets * kBytes / 2) return 6;

  static char json[1 << 17];
  const size_t length = pktmalloc_statistics_json(json, sizeof json);
  if (length >= sizeof json || strlen(json) != length || json[0] != '{') return 7;

  int local;
  if (pktmalloc_class_bytes(&local) != 0 || pktmalloc_class_bytes(NULL) != 0) return 8;
  printf("pktmalloc %s\n", pktmalloc_version());
  return 0;
}
