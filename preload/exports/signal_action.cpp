// SPDX-License-Identifier: MIT
// sigaction and signal like libc's, whose they are but for SIGSEGV while the library looks at
// faults first (guard/fault_signal.h): then the program's handler comes behind ours.
//
// Weak, because a program linked with the archive may have its own.
#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <cerrno>

#include "preload/base/export.h"
#include "preload/guard/fault_signal.h"

extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace {

using namespace pktmalloc;

// Another library may stand between us and libc (the JVM's libjsig). Looked up at load, because
// both functions may be called in a signal handler.
struct Next {
  int (*action)(int, const struct sigaction*, struct sigaction*) = __sigaction;
  sighandler_t (*simple)(int, sighandler_t) = ssignal;
};
constinit Next next;

__attribute__((constructor(102))) void find_next() {
  if (void* found = dlsym(RTLD_NEXT, "sigaction")) {
    next.action = reinterpret_cast<decltype(next.action)>(found);
  }
  if (void* found = dlsym(RTLD_NEXT, "signal")) {
    next.simple = reinterpret_cast<decltype(next.simple)>(found);
  }
}

}  // namespace

extern "C" {

[[gnu::weak]] PKTMALLOC_EXPORT int sigaction(int signal, const struct sigaction* action,
                                             struct sigaction* former) noexcept {
  if (shares_signal(signal)) return set_shared_action(action, former);
  return next.action(signal, action, former);
}

[[gnu::weak]] PKTMALLOC_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (!shares_signal(number)) return next.simple(number, handler);
  struct sigaction action {};
  struct sigaction former {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (set_shared_action(&action, &former) != 0) return SIG_ERR;
  return former.sa_handler;
}

}  // extern "C"
