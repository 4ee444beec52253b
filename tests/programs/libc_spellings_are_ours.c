// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "interface.h"

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
void* __libc_reallocarray(void*, size_t, size_t) __attribute__((weak));
void* __libc_valloc(size_t) __attribute__((weak));
void* __libc_pvalloc(size_t) __attribute__((weak));
void __libc_cfree(void*) __attribute__((weak));
int __posix_memalign(void**, size_t, size_t) __attribute__((weak));
void cfree(void*) __attribute__((weak));

static void* ours(void* p) {
  CHECK(p != NULL && pktmalloc_class_bytes(p) > 0);
  return p;
}

int main(void) {
  CHECK(__libc_reallocarray != NULL && __libc_valloc != NULL && __libc_pvalloc != NULL);
  CHECK(__libc_cfree != NULL && __posix_memalign != NULL && cfree != NULL);
  for (int i = 0; i < 3000; ++i) {
    free(ours(__libc_malloc(100)));
    __libc_free(ours(malloc(100)));
    __libc_cfree(ours(__libc_calloc(10, 10)));
    cfree(ours(__libc_realloc(ours(malloc(10)), 1000)));
    free(ours(__libc_reallocarray(NULL, 10, 10)));
    void* aligned = ours(__libc_memalign(256, 10));
    CHECK((uintptr_t)aligned % 256 == 0);
    free(aligned);
    free(ours(__libc_valloc(10)));
    free(ours(__libc_pvalloc(10)));
    CHECK(__posix_memalign(&aligned, 128, 10) == 0 && (uintptr_t)aligned % 128 == 0);
    free(ours(aligned));
  }
  return 0;
}
