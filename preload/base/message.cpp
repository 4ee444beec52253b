// SPDX-License-Identifier: MIT
#include "preload/base/message.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "preload/base/mapping.h"
#include "preload/formats/quiet_write.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {
namespace {

constexpr char kPrefix[] = "pktmalloc: ";
constexpr size_t kPrefixLength = sizeof kPrefix - 1;

// The length of the whole line, even if it did not fit.
size_t print(char* line, size_t bytes, const char* format, va_list arguments) {
  memcpy(line, kPrefix, kPrefixLength);
  const int length = vsnprintf(line + kPrefixLength, bytes - kPrefixLength, format, arguments);
  return kPrefixLength + static_cast<size_t>(std::max(length, 0)) + 1;
}

// Some of it comes from the environment.
void write(int fd, char* line, size_t length) {
  hide_controls(line, length);
  line[length - 1] = '\n';
  write_all(fd, line, length);
}

void tell(int fd, const char* format, va_list arguments) {
  const KeepErrno keep_errno;
  va_list again;
  va_copy(again, arguments);
  char small[500];
  const size_t length = print(small, sizeof small, format, arguments);
  // Two paths do not fit here, nor would they on the stack of a small thread.
  char* const large = length > sizeof small ? static_cast<char*>(map_lazily(length + 1)) : nullptr;
  if (large != nullptr) {
    print(large, length + 1, format, again);
    write(fd, large, length);
    munmap(large, length + 1);
  } else {
    write(fd, small, std::min(length, sizeof small));
  }
  va_end(again);
}

}  // namespace

Excerpt::Excerpt(const char* from, size_t length) {
  const bool cut = length > kMost;
  snprintf(text, sizeof text, "%.*s%s", static_cast<int>(cut ? kMost : length), from,
           cut ? "..." : "");
}

void hide_controls(char* text, size_t length) {
  std::replace_if(
      text, text + length, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
}

void message(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(STDERR_FILENO, format, arguments);
  va_end(arguments);
}

void message_to(int fd, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  tell(fd, format, arguments);
  va_end(arguments);
}

}  // namespace pktmalloc
