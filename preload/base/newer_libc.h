// SPDX-License-Identifier: MIT
// What only newer C libraries have, for a library that is to load into older ones (tools/older).
// Weak references are null there. All functions: any thread, no allocation.
#pragma once

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/machine.h"

#pragma weak __libc_single_threaded
#pragma weak strerrordesc_np

namespace pktmalloc {

inline bool has_one_thread() {
  if (&__libc_single_threaded != nullptr) return __libc_single_threaded != 0;
  return machine::old_libc_has_one_thread();
}

// Of an errno, in English, without a lock. Before glibc 2.32 there is no such text.
inline const char* error_text(int error) {
  return strerrordesc_np != nullptr ? strerrordesc_np(error) : "the system refuses";
}

// As close_range(), which glibc 2.34 has.
inline int close_descriptors(unsigned first, unsigned last, unsigned flags) {
  return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}

// As fstat(), stat() and lstat(), which are functions only since glibc 2.33.
inline int status_of(int descriptor, struct stat* status) {
  return static_cast<int>(syscall(SYS_newfstatat, descriptor, "", status, AT_EMPTY_PATH));
}
inline int status_of(const char* path, struct stat* status, int flags = 0) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, flags));
}
// A copy of the descriptor with that number or a higher one; a lower one, above the standard
// streams', where a limit forbids those. -1: none.
inline int copy_high(int descriptor, int lowest) {
  int copy = -1;
  for (; copy < 0 && lowest > STDERR_FILENO; lowest /= 2) {
    copy = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  }
  return copy;
}
// Has the descriptor, if it is one, that file?
inline bool has_file(int descriptor, const struct stat& file) {
  struct stat now;
  return descriptor >= 0 && status_of(descriptor, &now) == 0 && now.st_dev == file.st_dev &&
         now.st_ino == file.st_ino;
}

// A number that nobody outside the process knows. Early in the system's life there is none; then
// what the kernel gave the program at its start must do, and the address of a variable of the
// thread.
inline uint64_t random_number() {
  const KeepErrno keep;
  uint64_t number = 0;
  // Not by its function, which lets a thread be cancelled.
  if (syscall(SYS_getrandom, &number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  const auto* const given = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (given != nullptr) memcpy(&number, given, sizeof number);
  return next_number(number ^ reinterpret_cast<uintptr_t>(&errno));
}

}  // namespace pktmalloc
