// SPDX-License-Identifier: MIT
// A sandbox: a filter that does this with the system calls that are listed, and that with all
// others.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

enum { kMostListed = 50 };

// False: not in every kernel.
static inline int filter_calls(const int* listed, size_t count, uint32_t action, uint32_t other) {
  CHECK(count <= kMostListed);
  struct sock_filter filter[kMostListed + 3];
  size_t n = 0;
  filter[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)listed[i],
                                               (uint8_t)(count - i), 0);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  const struct sock_fprog program = {(unsigned short)n, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// One that kills the process at any call that is not allowed.
static inline int enter_sandbox(const int* allowed, size_t count) {
  return filter_calls(allowed, count, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}
