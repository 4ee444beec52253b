// SPDX-License-Identifier: MIT
// setrlimit and prlimit like libc's, by one system call. But when a program lowers its own limit of
// address space (RLIMIT_AS), heap and stacks leave more of what is left to others.
//
// Weak, because a program linked with the archive may have its own.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/export.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/stacks/stacks.h"
#include "sizeclass/base/keep_errno.h"

namespace {

using namespace pktmalloc;

int set_limit(pid_t process, int resource, const void* limit, void* old) {
  const long result = syscall(SYS_prlimit64, process, resource, limit, old);
  if (result == 0 && resource == RLIMIT_AS && limit != nullptr && !this_thread.forking) {
    const KeepErrno keep;
    rlimit ours{};  // of whichever process it was set for
    if (getrlimit(RLIMIT_AS, &ours) == 0 && in_own_memory()) {
      heap.limit_addresses(ours.rlim_cur);
      limit_stacks(ours.rlim_cur);
    }
  }
  return static_cast<int>(result);
}

}  // namespace

extern "C" {

[[gnu::weak]] PKTMALLOC_EXPORT int setrlimit(int resource, const rlimit* limit) noexcept {
  return set_limit(0, resource, limit, nullptr);
}

[[gnu::weak]] PKTMALLOC_EXPORT int prlimit(pid_t process, __rlimit_resource resource,
                                           const rlimit* limit, rlimit* old) noexcept {
  return set_limit(process, resource, limit, old);
}

[[gnu::weak]] PKTMALLOC_ALIAS(setrlimit) int setrlimit64(int, const rlimit64*) noexcept;
[[gnu::weak]] PKTMALLOC_ALIAS(prlimit) int prlimit64(pid_t, __rlimit_resource, const rlimit64*,
                                                     rlimit64*) noexcept;

}  // extern "C"
