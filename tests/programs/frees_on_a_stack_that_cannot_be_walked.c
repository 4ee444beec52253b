// SPDX-License-Identifier: MIT
// A function that goes on on a stack of the program's, and does not tell unwinders: who walks the
// stack of what it calls reads what are no frames.
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

enum { kWords = 1 << 13 };

static void work(void) {
  void* objects[200];
  for (size_t i = 0; i < 200; ++i) CHECK((objects[i] = malloc(i % 3 * 30)) != NULL);
  for (size_t i = 0; i < 200; ++i) free(objects[i]);
}

#ifdef __x86_64__
__asm__(
    ".text\n"
    ".globl call_on\n"
    "call_on:\n"
    "  .cfi_startproc\n"
    "  push %rbx\n"
    "  push %rbp\n"
    "  mov %rsp, %rbx\n"
    "  mov %rsi, %rsp\n"
    "  call *%rdi\n"
    "  mov %rbx, %rsp\n"
    "  pop %rbp\n"
    "  pop %rbx\n"
    "  ret\n"
    "  .cfi_endproc\n");
void call_on(void (*function)(void), uintptr_t* stack_end);
#else
static void call_on(void (*function)(void), uintptr_t* stack_end) {
  (void)stack_end;
  function();
}
#endif

int main(void) {
  uintptr_t* stack = malloc(kWords * sizeof *stack);
  CHECK(stack != NULL);
  for (size_t i = 0; i < kWords; ++i) stack[i] = 0x1234567800000000 + i * 4096;
  call_on(work, stack + kWords - 8);
  sigset_t all;  // as in the threads of many servers
  sigfillset(&all);
  CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
  call_on(work, stack + kWords - 8);
  free(stack);
  return 0;
}
