// SPDX-License-Identifier: MIT
// Random: a number that nobody outside the process knows.
#pragma once

#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {

// Early in the system's life there is none; then what the kernel gave the program at its start must
// do, and the address of a variable of the thread.
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
