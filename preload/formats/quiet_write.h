// SPDX-License-Identifier: MIT
// write(2) that never raises a signal: our output must not end the program. Otherwise a report
// would kill it on a pipe that nobody reads any more, or beyond RLIMIT_FSIZE. Nor must it stop the
// program: a pipe of ours does not block (report_file.h), and its reader has some seconds.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "sizeclass/base/clock.h"

namespace pktmalloc {

// As sigprocmask(2). libc's own function unblocks the signals that it keeps for itself: that would
// end a program whose timers start threads (SIGEV_THREAD), since libc waits for one of them,
// blocked.
inline void change_signal_mask(int how, const sigset_t* change, sigset_t* former = nullptr) {
  syscall(SYS_rt_sigprocmask, how, change, former, size_t{8});
}

// Like write(2).
inline ssize_t quiet_write(int fd, const void* bytes, size_t count) {
  sigset_t raised, before, waiting{};
  sigemptyset(&raised);
  sigaddset(&raised, SIGPIPE);
  sigaddset(&raised, SIGXFSZ);
  change_signal_mask(SIG_BLOCK, &raised, &before);
  // Only then may one wait already. Sandboxes of other programs need not allow the call.
  const bool blocks = sigismember(&before, SIGPIPE) == 1 || sigismember(&before, SIGXFSZ) == 1;
  if (blocks) syscall(SYS_rt_sigpending, &waiting, size_t{8});
  // By number, because libc's function is a cancellation point and malloc is none.
  const ssize_t written = syscall(SYS_write, fd, bytes, count);
  const int error = errno;
  if (written < 0 && (error == EPIPE || error == EFBIG)) {
    // The signal waits for this thread: take it back, unless one of the program's waited before.
    if (sigismember(&waiting, SIGPIPE) == 1) sigdelset(&raised, SIGPIPE);
    if (sigismember(&waiting, SIGXFSZ) == 1) sigdelset(&raised, SIGXFSZ);
    const timespec at_once{};
    syscall(SYS_rt_sigtimedwait, &raised, nullptr, &at_once, size_t{8});
  }
  change_signal_mask(SIG_SETMASK, &before);
  errno = error;
  return written;
}

// Writes all of it. False with errno; EAGAIN: nothing was taken for too long. Others' pipes block:
// so it looks first, and where half a pipe is full, writes no more at once than surely fits. Else
// as much as a report is: processes that share the pipe do not cut into each other's.
inline bool write_all(int fd, const void* bytes, size_t count) {
  constexpr int kPatienceMs = 5000, kHalf = 32 << 10;
  const char* at = static_cast<const char*>(bytes);
  for (uint64_t end = clock_ms() + kPatienceMs; count > 0;) {
    const uint64_t left = end - std::min(clock_ms(), end);
    const timespec most{static_cast<time_t>(left / 1000), static_cast<long>(left % 1000 * 1000000)};
    pollfd room{fd, POLLOUT, 0};
    const long ready = syscall(SYS_ppoll, &room, size_t{1}, &most, nullptr, size_t{8});
    if (ready == 0) return errno = EAGAIN, false;
    if (ready < 0 && errno == EINTR) continue;
    int held = 0;
    // What is short fits, and a sandbox that lets a finding be told need not allow the call.
    if (count > PIPE_BUF) syscall(SYS_ioctl, fd, FIONREAD, &held);
    const size_t fits = std::min<size_t>(count, held > kHalf ? PIPE_BUF : kHalf);
    const ssize_t written = quiet_write(fd, at, fits);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (written <= 0) return false;
    at += written;
    count -= static_cast<size_t>(written);
    end = clock_ms() + kPatienceMs;
  }
  return true;
}

}  // namespace pktmalloc
