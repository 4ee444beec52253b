// SPDX-License-Identifier: MIT
// Code that is compiled without frame pointers keeps anything in that register: here the address of
// two words on the stack, of which the second is no return address, nor any address.
#include <stdlib.h>

#include "check.h"

static void* allocate_with(void* frame_pointer) {
#ifdef __x86_64__
  register void* object __asm__("r13") = (void*)64;  // the size, then what malloc returns
  register void* register_value __asm__("r14") = frame_pointer;
  register void* (*allocate)(size_t) __asm__("r15") = malloc;
  __asm__ volatile(
      "mov %%rsp, %%r12\n\tmov %%rbp, %%rbx\n\tsub $128, %%rsp\n\tand $-16, %%rsp\n\t"
      "mov %1, %%rbp\n\tmov %0, %%rdi\n\tcall *%2\n\t"
      "mov %%rax, %0\n\tmov %%rbx, %%rbp\n\tmov %%r12, %%rsp"
      : "+r"(object)
      : "r"(register_value), "r"(allocate)
      : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
  return object;
#else
  (void)frame_pointer;
  return malloc(64);
#endif
}

int main(void) {
  const long odd[] = {-1, 5000, 1L << 62, (long)(1UL << 63) + 77};
  for (unsigned i = 0; i < 4; ++i) {
    long words[2] = {0, odd[i]};
    for (int n = 0; n < 20; ++n) CHECK(allocate_with(words) != NULL);
  }
}
