// SPDX-License-Identifier: MIT
// sigaction and signal like libc's, whose they are but for SIGSEGV while the library looks at
// faults first (process/fault_signal.h): then the program's handler comes behind ours. signal has
// several names and two meanings: that of System V is what strict C programs get.
//
// Weak, because a program linked with the archive may have its own.
#include <dlfcn.h>
#include <signal.h>

#include <cerrno>

#include "preload/base/export.h"
#include "preload/base/library_function.h"
#include "preload/process/fault_signal.h"

namespace {

using namespace pktmalloc;

using Action = int (*)(int, const struct sigaction*, struct sigaction*);
using Simple = sighandler_t (*)(int, sighandler_t);

// Another library may stand between us and libc (the JVM's libjsig). Looked up at load, because
// all may be called in a signal handler; before that, sigaction does what signal would.
Action next_action = __sigaction;
Simple next_signal = nullptr, next_sysv_signal = nullptr;

constexpr int kBsd = SA_RESTART;
constexpr int kSystemV = static_cast<int>(SA_RESETHAND) | SA_NODEFER;

__attribute__((constructor(102))) void find_next() {
  find_function(next_action, RTLD_NEXT, "sigaction");
  find_function(next_signal, RTLD_NEXT, "signal");
  find_function(next_sysv_signal, RTLD_NEXT, "__sysv_signal");
}

int set_action(int number, const struct sigaction* action, struct sigaction* former) {
  if (shares_signal(number)) return set_shared_action(action, former);
  return next_action(number, action, former);
}

sighandler_t set_simply(int number, sighandler_t handler, int flags, Simple next) {
  if (next != nullptr && !shares_signal(number)) return next(number, handler);
  if (handler == SIG_ERR) return errno = EINVAL, SIG_ERR;
  struct sigaction action {};
  struct sigaction former {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return set_action(number, &action, &former) == 0 ? former.sa_handler : SIG_ERR;
}

}  // namespace

extern "C" {

[[gnu::weak]] PKTMALLOC_EXPORT int sigaction(int number, const struct sigaction* action,
                                             struct sigaction* former) noexcept {
  return set_action(number, action, former);
}

[[gnu::weak]] PKTMALLOC_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  return set_simply(number, handler, kBsd, next_signal);
}

[[gnu::weak]] PKTMALLOC_EXPORT sighandler_t __sysv_signal(int number,
                                                          sighandler_t handler) noexcept {
  return set_simply(number, handler, kSystemV, next_sysv_signal);
}

[[gnu::weak]] PKTMALLOC_ALIAS(signal) sighandler_t bsd_signal(int, sighandler_t) noexcept;
[[gnu::weak]] PKTMALLOC_ALIAS(signal) sighandler_t ssignal(int, sighandler_t) noexcept;
[[gnu::weak]] PKTMALLOC_ALIAS(__sysv_signal) sighandler_t sysv_signal(int, sighandler_t) noexcept;

}  // extern "C"
