// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t bytes = 0; bytes <= 3 << 20; bytes = bytes * 2 + 1) {
    char* block = valloc(bytes);
    CHECK(block != NULL && (uintptr_t)block % page == 0);
    memset(block, 1, bytes);
    char* pages = pvalloc(bytes);
    CHECK(pages != NULL && (uintptr_t)pages % page == 0);
    memset(pages, 2, (bytes + page - 1) / page * page);
    CHECK(bytes == 0 || block[bytes - 1] == 1);
    free(block);
    free(pages);
  }
  return 0;
}
