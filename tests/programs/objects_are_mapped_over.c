// SPDX-License-Identifier: MIT
// A program maps over its own objects what it shares with children, or a file, and frees them: when
// their memory went back, calloc is zero all the same.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

enum { kBlocks = 64, kBytes = 128 << 10 };

static void map_over(int flags, int file) {
  char* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = aligned_alloc(1 << 16, kBytes);
    CHECK(mmap(blocks[i], kBytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) == blocks[i]);
    memset(blocks[i], 0xaa, kBytes);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  malloc_trim(0);
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = calloc(1, kBytes);
    CHECK(blocks[i][0] == 0 && memcmp(blocks[i], blocks[i] + 1, kBytes - 1) == 0);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

int main(void) {
  map_over(MAP_SHARED | MAP_ANONYMOUS, -1);
  FILE* const file = tmpfile();
  char page[4096];
  memset(page, 0x55, sizeof page);
  for (int i = 0; i < kBytes; i += (int)sizeof page) fwrite(page, sizeof page, 1, file);
  fflush(file);
  map_over(MAP_PRIVATE, fileno(file));
  return 0;
}
