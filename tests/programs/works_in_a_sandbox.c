// SPDX-License-Identifier: MIT
// A filter kills the process at any system call that malloc of libc and the end of a program do not
// need. The program allocates and frees as before, also a peak that goes back meanwhile, returns
// from main, and ends with status 0.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

enum { kPeak = 20000, kMs = 100 };

static const int kAllowed[] = {SYS_read,     SYS_write,  SYS_mmap,       SYS_munmap,
                               SYS_mprotect, SYS_mremap, SYS_brk,        SYS_madvise,
                               SYS_futex,    SYS_exit,   SYS_exit_group, SYS_rt_sigreturn};
enum { kCount = sizeof kAllowed / sizeof *kAllowed };

static uint64_t now_ms(void) {
  struct timespec now;  // the coarse clock needs no call on any machine
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int enter_sandbox(void) {
  struct sock_filter filter[kCount + 3];
  size_t n = 0;
  filter[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < kCount; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)kAllowed[i],
                                               (uint8_t)(kCount - i), 0);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {(unsigned short)n, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
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
  if (!enter_sandbox()) return 0;  // not in every kernel
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
