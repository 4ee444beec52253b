// SPDX-License-Identifier: MIT
// Memory that libc's own functions gave, behind our back, comes to free, realloc and
// malloc_usable_size.
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"
#include "resident.h"

int main(void) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  CHECK(libc != NULL);
  void* (*foreign_malloc)(size_t) = (void* (*)(size_t))dlsym(libc, "malloc");
  void* (*foreign_memalign)(size_t, size_t) = (void* (*)(size_t, size_t))dlsym(libc, "memalign");
  CHECK(foreign_malloc != NULL && foreign_memalign != NULL && foreign_malloc != malloc);
  const double before = resident_mib();
  for (int round = 0; round < 20; ++round) {
    for (size_t bytes = 1; bytes <= 4 << 20; bytes += bytes / 4 + 1) {
      void* block = foreign_malloc(bytes);
      CHECK(block != NULL && pktmalloc_class_bytes(block) == 0);
      CHECK(malloc_usable_size(block) >= bytes);
      write_pattern(block, bytes, bytes);
      errno = 4711;
      if (round % 4 == 0) {
        free(block);
        CHECK(errno == 4711);
        continue;
      }
      const size_t wanted = round % 4 == 1 ? bytes * 2 : bytes / 2 + 1;
      block = realloc(block, wanted);
      CHECK(block != NULL);
      CHECK(wanted < bytes || has_pattern(block, bytes, bytes));
      CHECK(malloc_usable_size(block) >= wanted);
      free(block);
      block = foreign_memalign(256, bytes);
      CHECK(block != NULL && (size_t)block % 256 == 0);
      free(block);
    }
  }
  CHECK(resident_mib() - before < 60);
  CHECK(malloc_usable_size(NULL) == 0);
  return 0;
}
