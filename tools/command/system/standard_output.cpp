// SPDX-License-Identifier: MIT
#include "tools/command/system/standard_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

size_t output_columns() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool output_has_colours() {
  const char* const term = getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && getenv("NO_COLOR") == nullptr && term != nullptr &&
         strcmp(term, "dumb") != 0;
}

}  // namespace pktmalloc
