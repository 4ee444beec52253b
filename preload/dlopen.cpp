// SPDX-License-Identifier: MIT
// dlopen without RTLD_DEEPBIND. A library that is loaded with that flag finds malloc and free in
// libc.so.6 before ours, and what it and the program hand to each other is freed by the wrong one
// (docs/decisions.md).
//
// glibc's dlopen looks where it returns to: RUNPATH, $ORIGIN and namespace of that object are those
// of the search. So ours leaves by a jump, with the caller's return address in its place. No
// compiler promises that, hence the assembly.
//
// The next dlopen is looked up by the first call: other libraries' constructors may come before
// ours. Weak, because a program linked with the archive may have a dlopen of its own.
#include <dlfcn.h>

#include <atomic>

#include "preload/base/export.h"

namespace {

using Open = void* (*)(const char*, int);

[[gnu::used]] constinit std::atomic<Open> next_dlopen asm("pktmalloc_next_dlopen") = nullptr;

// dlsym finds nothing in a program linked with -static. There every caller is the program itself.
void* open_in_base(const char* file, int mode) { return dlmopen(LM_ID_BASE, file, mode); }

[[gnu::used]] Open find_next_dlopen() asm("pktmalloc_find_next_dlopen");

Open find_next_dlopen() {
  void* found = dlsym(RTLD_NEXT, "dlopen");
  const Open next = found != nullptr ? reinterpret_cast<Open>(found) : open_in_base;
  next_dlopen.store(next, std::memory_order_relaxed);
  return next;
}

static_assert(RTLD_DEEPBIND == 8, "the number in dlopen");

}  // namespace

extern "C" [[gnu::naked, gnu::weak]] PKTMALLOC_EXPORT void* dlopen(const char*, int) noexcept {
  asm("and $~8, %esi\n\t"
      "mov pktmalloc_next_dlopen(%rip), %rax\n\t"
      "test %rax, %rax\n\t"
      "jnz 1f\n\t"
      "push %rdi\n\t"
      "push %rsi\n\t"
      "push %rax\n\t"  // aligns the stack
      ".cfi_adjust_cfa_offset 24\n\t"
      "call pktmalloc_find_next_dlopen\n\t"
      "add $8, %rsp\n\t"
      "pop %rsi\n\t"
      "pop %rdi\n\t"
      ".cfi_adjust_cfa_offset -24\n"
      "1:\tjmp *%rax");
}
