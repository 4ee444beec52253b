// SPDX-License-Identifier: MIT
// write(2) that never raises a signal: our output must not end the program. Otherwise a report
// would kill it on a pipe that nobody reads any more, or beyond RLIMIT_FSIZE. Nor must it stop the
// program: a pipe of ours does not block (report_file.h), and its reader has some seconds.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "sizeclass/base/clock.h"

namespace pktmalloc {

// Like write(2).
inline ssize_t quiet_write(int fd, const void* bytes, size_t count) {
  sigset_t raised;
  sigset_t before;
  sigemptyset(&raised);
  sigaddset(&raised, SIGPIPE);
  sigaddset(&raised, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &raised, &before);
  // By number, because libc's function is a cancellation point and malloc is none.
  const ssize_t written = syscall(SYS_write, fd, bytes, count);
  const int error = errno;
  if (written < 0 && (error == EPIPE || error == EFBIG)) {
    // The signal waits for this thread: take it back, unless the program itself blocks it.
    if (sigismember(&before, SIGPIPE) == 1) sigdelset(&raised, SIGPIPE);
    if (sigismember(&before, SIGXFSZ) == 1) sigdelset(&raised, SIGXFSZ);
    const timespec at_once{};
    syscall(SYS_rt_sigtimedwait, &raised, nullptr, &at_once, size_t{8});
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

// Writes all of it. False with errno; EAGAIN: nothing was taken for too long.
inline bool write_all(int fd, const void* bytes, size_t count) {
  constexpr uint64_t kPatienceMs = 5000;
  const char* at = static_cast<const char*>(bytes);
  uint64_t end = 0;
  while (count > 0) {
    const ssize_t written = quiet_write(fd, at, count);
    if (written > 0) {
      at += written;
      count -= static_cast<size_t>(written);
      end = 0;
    } else if (written == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (errno == EAGAIN) {
      const uint64_t now = clock_ms();
      if (end == 0) end = now + kPatienceMs;
      if (now >= end) return false;
      pollfd room{fd, POLLOUT, 0};
      const uint64_t left = end - now;
      const timespec most{static_cast<time_t>(left / 1000),
                          static_cast<long>(left % 1000 * 1000000)};
      syscall(SYS_ppoll, &room, size_t{1}, &most, nullptr, size_t{8});
    }
  }
  return true;
}

}  // namespace pktmalloc
