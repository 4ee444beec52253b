// SPDX-License-Identifier: MIT
// Fault signal: SIGSEGV, shared with the program. The library's handler looks at a fault first and
// then does what the program wanted: calls its handler, with its mask and on its stack, or lets the
// default action end it at the faulting instruction. exports/signal_action.cpp brings the program's
// wishes here, so the program always finds what it set itself.
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <cstdint>

// libc's own sigaction; ours would come back here.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace pktmalloc {

// Is asked for faults of memory access, a "read" or a "write", in the handler; true: the access may
// be tried again.
using LooksAt = bool(uintptr_t address, uintptr_t pc, const char* what);

// At load, twice at most. What the first to look declines the second is asked for. Makes the other
// stack, for what they tell.
void watch_faults(LooksAt* look);

// A thread that reads what may lead to where nobody may read sets it meanwhile: a fault in such
// code ends by a jump there.
inline constinit thread_local jmp_buf* goes_on __attribute__((visibility("hidden"))) = nullptr;
inline bool (*is_daring)(uintptr_t pc) = nullptr;     // is the fault there in such code?
inline bool (*is_unwinders)(uintptr_t pc) = nullptr;  // is a call of abort there the unwinder's?
// At any time.
void share_faults();

// Is the signal shared?
bool shares_signal(int signal);

// As sigaction() for that signal. Signal-safe.
int set_shared_action(const struct sigaction* action, struct sigaction* former);

}  // namespace pktmalloc
