// SPDX-License-Identifier: MIT
// CHECK: ends the program with status 1 and one line that tells what did not hold. Allocates
// nothing, so it may stand anywhere; in a forked child it ends the child.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition) \
  ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__, errno))

static inline void check_failed(const char* condition, const char* file, int line, int error) {
  dprintf(2, "%s:%d: %s does not hold (errno %d)\n", file, line, condition, error);
  _exit(1);
}
