// SPDX-License-Identifier: MIT
// Machine: all that is particular to a processor, and nothing else is (docs/machines.md).
//
// x86-64 and 64-bit ARM, little-endian, Linux. To add one, write all of this for it; pktmalloc.hpp
// calls the library where it cannot inline.
#pragma once

#include <atomic>
#include <cstdint>

#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

namespace pktmalloc::machine {

#if defined(__x86_64__) && defined(__LP64__)

// Bits of a program's addresses, unless it asks the system for more.
inline constexpr unsigned kAddressBits = 47;
// The register that leads to the caller's frame, in DWARF's numbering: rbp.
inline constexpr int kFramePointer = 6;

// Stores a word by one instruction, which the compiler can join with the address's computation. It
// does not for atomics.
template <typename T>
inline void store(T& word, T value) {
  asm("mov %1, %0" : "=m"(word) : "r"(value));
}
// Only the word's owner writes it; others may read it. One instruction, where relaxed atomics take
// three.
inline void increment(uint64_t& word) { asm("addq $1, %0" : "+m"(word)); }

// Brings a line here that is to be written. prefetchw also takes it from the processor that wrote
// it last; a processor without the instruction ignores it.
inline void prefetch_for_writing(uintptr_t address) {
  asm volatile("prefetchw (%0)" : : "r"(address));
}

// Is the word zero? Asks by an instruction that stores it, too: the first access to a new page is
// then a write.
inline bool is_zero_for_writing(uint64_t* word) {
  bool zero;
  asm volatile("orq $0, %0" : "+m"(*word), "=@ccz"(zero));
  return zero;
}

inline uintptr_t thread_pointer() {
  uintptr_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

// Where a signal interrupted the program, and whether an access that faulted there was a write.
inline uintptr_t interrupted_at(const ucontext_t& context) {
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}
inline bool was_writing(const ucontext_t& context) {
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;  // the page fault's error code
}

// A call has put its return address right below the frame's address (DWARF's CFA), and functions
// put the caller's frame pointer below that.
inline constexpr bool kCallsPushFrames = true;
inline uintptr_t frame_pointer_before(uintptr_t cfa) {
  return reinterpret_cast<const uintptr_t*>(cfa)[-2];
}

// The body of a function in assembly with a pointer and an int: calls `prepare` with both, takes
// the bits of `clear` out of the int, and jumps to what prepare returned. To that function its
// caller is ours.
#define PKTMALLOC_JUMP(prepare, clear)                                \
  "push %rdi\n\tpush %rsi\n\tsub $8, %rsp\n\t" /* aligns the stack */ \
  ".cfi_adjust_cfa_offset 24\n\t"                                     \
  "call " prepare                                                     \
  "\n\t"                                                              \
  "add $8, %rsp\n\tpop %rsi\n\tpop %rdi\n\t"                          \
  ".cfi_adjust_cfa_offset -24\n\t"                                    \
  "and $~" clear ", %esi\n\tjmp *%rax\n\t"

// Loads after it are not done before stores before it, if a locked instruction (an exchange, the
// unlock of a mutex) lies between: here that is a full barrier.
inline void order_after_locked() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Of the first C library for it, and of whatever that had.
inline constexpr char kFirstLibc[] = "GLIBC_2.2.5";

// The word in a thread's head in which C libraries before glibc 2.32 note that the process has had
// a second thread.
inline bool old_libc_has_one_thread() {
  int several;
  asm volatile("movl %%fs:24, %0" : "=r"(several));
  return several == 0;
}

// While a thread waits for another in a loop.
inline void pause() { __builtin_ia32_pause(); }

// A clock that is cheap to read, and in no order with what is around it.
#if defined PKTMALLOC_STANDING_CLOCK  // for simulations, which are to come out alike
inline uint64_t ticks() { return 0; }
#else
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }
#endif
// False where the system ends a thread that does.
inline bool lets_read_ticks() {
  int mode = PR_TSC_ENABLE;
  prctl(PR_GET_TSC, &mode);
  return mode == PR_TSC_ENABLE;
}

#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)

inline constexpr unsigned kAddressBits = 48;
inline constexpr int kFramePointer = 29;

template <typename T>
inline void store(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
inline void increment(uint64_t& word) { store(word, word + 1); }

inline void prefetch_for_writing(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<void*>(address), 1);
}

// No instruction does both; a store before the load would clear what is to be looked at.
inline bool is_zero_for_writing(uint64_t* word) { return *word == 0; }

inline uintptr_t thread_pointer() {
  return reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
}

inline uintptr_t interrupted_at(const ucontext_t& context) { return context.uc_mcontext.pc; }
// The kernel adds records to the context, one of them the exception's syndrome.
inline bool was_writing(const ucontext_t& context) {
  const char* const begin = reinterpret_cast<const char*>(context.uc_mcontext.__reserved);
  const char* const end = begin + sizeof context.uc_mcontext.__reserved;
  for (const char* at = begin; at + sizeof(esr_context) <= end;) {
    const auto* const record = reinterpret_cast<const _aarch64_ctx*>(at);
    if (record->magic == ESR_MAGIC) {
      return (reinterpret_cast<const esr_context*>(at)->esr >> 6 & 1) != 0;
    }
    if (record->size == 0) break;
    at += record->size;
  }
  return false;
}

// A function puts both where it likes: asks the unwinder.
inline constexpr bool kCallsPushFrames = false;
inline uintptr_t frame_pointer_before(uintptr_t) { return 0; }

#define PKTMALLOC_JUMP(prepare, clear)                                              \
  "stp x29, x30, [sp, -32]!\n\t"                                                    \
  ".cfi_adjust_cfa_offset 32\n\t.cfi_rel_offset 29, 0\n\t.cfi_rel_offset 30, 8\n\t" \
  "stp x0, x1, [sp, 16]\n\t"                                                        \
  "bl " prepare                                                                     \
  "\n\t"                                                                            \
  "mov x16, x0\n\tldp x0, x1, [sp, 16]\n\t"                                         \
  "ldp x29, x30, [sp], 32\n\t"                                                      \
  ".cfi_restore 29\n\t.cfi_restore 30\n\t.cfi_adjust_cfa_offset -32\n\t"            \
  "and w1, w1, ~" clear "\n\tbr x16\n\t"

inline void order_after_locked() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline constexpr char kFirstLibc[] = "GLIBC_2.17";

// Not known where it lies.
inline bool old_libc_has_one_thread() { return false; }

inline void pause() { asm volatile("yield"); }

inline uint64_t ticks() {
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
inline bool lets_read_ticks() { return true; }

#else
#error "pktmalloc knows x86-64 and little-endian 64-bit ARM only"
#endif

}  // namespace pktmalloc::machine
