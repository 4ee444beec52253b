// SPDX-License-Identifier: MIT
// SignalMask: the calling thread's blocked signals, exactly as the system knows them. libc's own
// functions unblock the signals that it keeps for itself: that would end a program whose timers
// start threads (SIGEV_THREAD), since libc waits for one of them, blocked.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace pktmalloc {

// As sigprocmask(2).
inline void change_signal_mask(int how, const sigset_t* change, sigset_t* former = nullptr) {
  syscall(SYS_rt_sigprocmask, how, change, former, size_t{8});
}

}  // namespace pktmalloc
