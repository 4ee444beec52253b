// SPDX-License-Identifier: MIT
// The engine's two clocks, both monotonic and without a system call, and its only sleep.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {

// Must not allocate, for it is called amid a trip. Set at start, if at all.
inline constinit decltype(&clock_gettime) read_clock = clock_gettime;

// Where the processor's clock may not be read (PR_SET_TSC), as libc would. Any thread, at any time.
inline void read_clock_by_call() {
  read_clock = [](clockid_t clock, timespec* time) noexcept {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  };
}

// Nanoseconds, exact, about 20 ns: it never goes back, not even between threads.
inline uint64_t clock_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  read_clock(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

// Microseconds of the same clock. Bounds the work of one visit.
inline uint64_t clock_us() { return clock_ns() / 1000; }

// Milliseconds; moves in steps of a few ms and costs about 5 ns. For "has the interval passed".
inline uint64_t clock_ms() { return clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000; }

// A signal ends it early; keeps errno. Calls the system by number, because libc's functions are
// cancellation points: a thread would be cancelled inside malloc or free and lose what it was about
// to exchange.
inline void sleep_us(long us) {
  const KeepErrno keep_errno;
  const timespec time{0, us * 1000};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace pktmalloc
