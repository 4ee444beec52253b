// SPDX-License-Identifier: MIT
// Run with another allocator preloaded behind us: what is not pooled is that one's.
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "interface.h"

enum { kBlocks = 20, kBytes = 8 << 20 };

static struct mallinfo2 (*libc_info)(void);

static size_t held_by_libc(void) {
  const struct mallinfo2 info = libc_info();
  return info.uordblks + info.hblkhd;
}

int main(void) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  libc_info = (struct mallinfo2(*)(void))dlsym(libc, "mallinfo2");
  CHECK(libc_info != NULL && libc_info != mallinfo2);
  const size_t before = held_by_libc();
  void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    CHECK((blocks[i] = malloc(kBytes)) != NULL);
    CHECK(pktmalloc_class_bytes(blocks[i]) == 0);
    memset(blocks[i], 1, 100);
  }
  CHECK(held_by_libc() < before + kBytes);
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  return 0;
}
