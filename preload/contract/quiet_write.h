// SPDX-License-Identifier: MIT
// write(2) that never raises a signal: what we have to say must not end the program. Without it, a
// report into a pipe that nobody reads any more, or beyond RLIMIT_FSIZE, would kill.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace pktmalloc {

// As write(2).
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
    // The signal waits for this thread: take it back, unless the program holds it back itself.
    if (sigismember(&before, SIGPIPE) == 1) sigdelset(&raised, SIGPIPE);
    if (sigismember(&before, SIGXFSZ) == 1) sigdelset(&raised, SIGXFSZ);
    const timespec at_once{};
    syscall(SYS_rt_sigtimedwait, &raised, nullptr, &at_once, size_t{8});
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace pktmalloc
