// SPDX-License-Identifier: MIT
// The library exports sigaction, and this is libc's own. Not for programs linked with -static:
// there the name is musl's.
#include <dlfcn.h>
#include <signal.h>

#undef dlsym

extern "C" int __sigaction(int number, const struct sigaction* action,
                           struct sigaction* former) noexcept {
  using Action = int (*)(int, const struct sigaction*, struct sigaction*);
  static const auto next = reinterpret_cast<Action>(dlsym(RTLD_NEXT, "sigaction"));
  return next(number, action, former);
}
