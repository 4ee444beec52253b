// SPDX-License-Identifier: MIT
// Writer: formatted text to a file descriptor or into memory, without allocating.
#pragma once

#include <cstddef>

namespace pktmalloc {

class Writer {
 public:
  // To a file descriptor, in pieces of this many bytes. Descriptor and buffer stay the caller's: a
  // small thread's stack has no room for a large buffer.
  Writer(int fd, char* buffer, size_t bytes) : fd_(fd), text_(buffer), room_(bytes) {}
  // Into memory, cut to fit.
  Writer(char* text, size_t bytes) : text_(text), room_(bytes) {}
  Writer(Writer&&) = delete;

  // At most 500 bytes each; integers and strings only, so that printf has no reason to allocate.
  void print(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // Any number of bytes.
  void put(const char* bytes, size_t count);

  // Writes out what is buffered, or ends the text in memory with a zero. False if anything failed.
  bool finish();

  // All bytes printed, including those that did not fit.
  size_t length() const { return length_; }

 private:
  void flush();

  int fd_ = -1;
  bool failed_ = false;
  char* text_;
  size_t room_;
  size_t used_ = 0;
  size_t length_ = 0;
};

}  // namespace pktmalloc
