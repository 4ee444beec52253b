// SPDX-License-Identifier: MIT
// The table of a function does not say how to unwind its frame, like those of what LuaJIT compiles:
// libgcc_s calls abort there.
#include <stdlib.h>

#include "check.h"

enum { kObjects = 1000 };

#ifdef __x86_64__
__asm__(
    ".text\n"
    ".globl call_strangely\n"
    "call_strangely:\n"
    "  .cfi_startproc simple\n"
    "  push %rbx\n"
    "  call *%rsi\n"
    "  pop %rbx\n"
    "  ret\n"
    "  .cfi_endproc\n");
void* call_strangely(size_t bytes, void* (*function)(size_t bytes));
#else
static void* call_strangely(size_t bytes, void* (*function)(size_t bytes)) {
  return function(bytes);
}
#endif

static void* released(size_t object) {
  free((void*)object);
  return NULL;
}

int main(void) {
  for (int i = 0; i < kObjects; ++i) {
    void* const object = call_strangely((size_t)i, malloc);
    CHECK(object != NULL);
    call_strangely((size_t)object, released);
  }
  return 0;
}
