// SPDX-License-Identifier: MIT
// A word on which a thread of our own sleeps. Called by number, because libc has no function for
// it; safe in signal handlers.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace pktmalloc {

// Returns at a wake, at a signal, after `timeout` (nullptr: never), or at once if the word is not
// `value`.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

inline void futex_wake_one(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

}  // namespace pktmalloc
