// SPDX-License-Identifier: MIT
#include "tools/command/system/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/command/failure.h"

namespace pktmalloc {

void flush_standard_output() {
  errno = 0;
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return;
  end_if_unread(errno);
  throw Failure("cannot write: {}", errno != 0 ? strerror(errno) : "output was lost");
}

void end_if_unread(int error) {
  if (error != EPIPE) return;
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);  // it is blocked
}

}  // namespace pktmalloc
