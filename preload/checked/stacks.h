// SPDX-License-Identifier: MIT
// Stacks: which calls led to an allocation or a free, as a 32-bit number that an object can carry.
//
// A stack is unwound once per place. A place is a return address together with the address of its
// frame; it remembers where on the stack the outer return addresses lay. At the next call from
// there those words are compared with the frames that were found: if all are the same, so is the
// stack, and no unwinder is asked. That costs a few nanoseconds where unwinding costs microseconds.
//
// Unwinding is done by libunwind.so.8 if it is there, else by libgcc_s.so.1, through the functions
// that both have (_Unwind_Backtrace). Until load_unwinder() a stack is its innermost frame. No lock
// is held meanwhile: the unwinder takes the loader's. Whatever it allocates gets the short stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc::checked {

using StackId = uint32_t;  // 0: none

inline constexpr unsigned kStackFrames = 32;

struct Stack {
  StackId next;  // with the same hash
  uint32_t count;
  uintptr_t frames[kStackFrames];  // return addresses, innermost first; `count` are stored
};

// A call into the library: where it returns to, and the stack pointer once it has.
struct Site {
  uintptr_t pc;
  uintptr_t cfa;  // canonical frame address, as DWARF calls it
};

// Of the exported function into which the caller is inlined.
[[gnu::always_inline]] inline Site this_site() {
  return {reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
          reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(uintptr_t)};
}

void start_stacks();
void load_unwinder();

// Never 0.
StackId capture(Site site);

// From a signal's context: the stack of the interrupted code, whose next instruction is `pc`.
StackId capture_interrupted(uintptr_t pc);

// Fewer than asked for if less is known. frames: kStackFrames of them.
unsigned frames_of(StackId id, uintptr_t* frames);

// Around fork: waits, but not for ever, until nobody is unwinding, and lets nobody begin: the child
// would find the unwinder's locks held.
void stop_unwinding();
void allow_unwinding();

}  // namespace pktmalloc::checked
