// SPDX-License-Identifier: MIT
// Restriction: functions by which a program restricts itself, like libc's, by one system call.
//
// When it lowers its own limit of address space (RLIMIT_AS), heap, stacks and guarded slots leave
// more of what is left to others. Once it has put the calling thread into the kernel's strict mode,
// any system call except read, write and exit kills that thread, and so does a look at the exact
// clock. From then on its mallocs and frees do neither; the next allocator serves what our heap has
// no memory for. (A program that enters strict mode by the system call itself is not seen.) That
// holds while no option records or guards, and no other thread holds a lock of the heap: to wait
// for it is a call.
//
// Weak, because a program linked with the archive may have its own.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

#include "preload/base/export.h"
#include "preload/base/mapping.h"
#include "preload/guard/slot.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/stacks/stacks.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

namespace {

using namespace pktmalloc;

int set_limit(pid_t process, int resource, const void* limit, void* old) {
  const long result = syscall(SYS_prlimit64, process, resource, limit, old);
  const bool is_set = result == 0 && resource == RLIMIT_AS && limit != nullptr;
  if (is_set && !this_thread.forking && in_own_memory()) {
    const KeepErrno keep;
    const Lock one_at_a_time(threads_mutex);
    // Ours, whichever process it was set for.
    const size_t bytes = at_most(RLIM_INFINITY, RLIMIT_AS, 1);
    heap.limit_addresses(bytes);
    limit_stacks(bytes / 32);
    limit_slots(bytes / 32);
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

[[gnu::weak]] PKTMALLOC_EXPORT int prctl(int option, ...) noexcept {
  va_list arguments;
  va_start(arguments, option);
  unsigned long words[4];
  for (unsigned long& word : words) word = va_arg(arguments, unsigned long);
  va_end(arguments);
  const bool strict = option == PR_SET_SECCOMP && words[0] == SECCOMP_MODE_STRICT;
  if (strict) cache_of_this_thread();  // to make one later takes calls
  // The thread may read no clock of the processor soon: in strict mode, too.
  if (strict || option == PR_SET_TSC) heap.due().tell_always();
  if (option == PR_SET_TSC) read_clock_by_call();
  const long result = syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
  if (strict && result == 0) memory::in_strict_mode = true;
  return static_cast<int>(result);
}

}  // extern "C"
