// SPDX-License-Identifier: MIT
#include "preload/base/message.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "preload/contract/quiet_write.h"

namespace pktmalloc {

void message(const char* format, ...) {
  const int saved_errno = errno;
  constexpr int kPrefix = 11;
  char line[500] = "pktmalloc: ";
  va_list arguments;
  va_start(arguments, format);
  const int room = static_cast<int>(sizeof line) - kPrefix;
  int length = vsnprintf(line + kPrefix, static_cast<size_t>(room), format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if (length > room - 1) length = room - 1;
  line[kPrefix + length] = '\n';
  quiet_write(STDERR_FILENO, line, static_cast<size_t>(kPrefix) + static_cast<size_t>(length) + 1);
  errno = saved_errno;
}

}  // namespace pktmalloc
