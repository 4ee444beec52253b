// SPDX-License-Identifier: MIT
// A filter kills the process at any system call that malloc of libc and the end of a program do not
// need. The program allocates and frees as before, also a peak that goes back meanwhile, returns
// from main, and ends with status 0.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandbox.h"

enum { kPeak = 20000, kMs = 100 };

static const int kAllowed[] = {SYS_read,     SYS_write,  SYS_mmap,       SYS_munmap,
                               SYS_mprotect, SYS_mremap, SYS_brk,        SYS_madvise,
                               SYS_futex,    SYS_exit,   SYS_exit_group, SYS_rt_sigreturn};

static uint64_t now_ms(void) {
  struct timespec now;  // the coarse clock needs no call on any machine
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void peak(void) {
  static char* objects[kPeak];
  for (size_t i = 0; i < kPeak; ++i) {
    const size_t bytes = 16 + i * 131 % 2000;
    CHECK((objects[i] = malloc(bytes)) != NULL);
    memset(objects[i], 1, bytes);
  }
  for (size_t i = 0; i < kPeak; ++i) free(objects[i]);
}

int main(void) {
  free(malloc(10));
  if (!enter_sandbox(kAllowed, sizeof kAllowed / sizeof *kAllowed)) return 0;
  peak();
  char* large = realloc(malloc(1 << 20), 4 << 20);
  CHECK(large != NULL);
  memset(large, 1, 4 << 20);
  free(large);
  const uint64_t begin = now_ms();
  while (now_ms() - begin < kMs) {
    for (size_t bytes = 0; bytes < 10000; bytes += 100) free(malloc(bytes));
  }
  peak();
  return 0;
}
