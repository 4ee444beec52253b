// SPDX-License-Identifier: MIT
#include "preload/formats/writer.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "preload/formats/quiet_write.h"

namespace pktmalloc {

void Writer::print(const char* format, ...) {
  char line[500];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) put(line, std::min(static_cast<size_t>(length), sizeof line - 1));
}

void Writer::put(const char* bytes, size_t count) {
  length_ += count;
  while (count > 0) {
    const size_t now = std::min(count, room_ - used_);
    memcpy(text_ + used_, bytes, now);
    used_ += now;
    bytes += now;
    count -= now;
    if (count == 0 || fd_ < 0) return;
    flush();
  }
}

void Writer::flush() {
  failed_ = failed_ || !write_all(fd_, text_, used_);
  used_ = 0;
}

bool Writer::finish() {
  if (fd_ >= 0) {
    flush();
  } else if (room_ > 0) {
    text_[std::min(used_, room_ - 1)] = '\0';
  }
  return !failed_;
}

}  // namespace pktmalloc
