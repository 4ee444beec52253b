// SPDX-License-Identifier: MIT
#include "preload/guard/fault_signal.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

// libc's own sigaction; ours would come back here.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace pktmalloc {
namespace {

bool (*look_at)(uintptr_t, uintptr_t, bool) = nullptr;

// What the program wants. A handler may interrupt the change, so the two take turns.
struct sigaction wanted[2];
constinit std::atomic<unsigned> current = 0;

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const bool by_access = info->si_code > 0;  // else another process or thread sent it
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr long long kWrite = 2;  // in the page fault's error code
  if (by_access &&
      look_at(reinterpret_cast<uintptr_t>(info->si_addr),
              static_cast<uintptr_t>(registers[REG_RIP]), (registers[REG_ERR] & kWrite) != 0)) {
    return;
  }
  const struct sigaction action = wanted[current.load(std::memory_order_acquire)];
  if (has_handler(action)) {
    if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
      struct sigaction none {};
      set_shared_action(&none, nullptr);
    }
    if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(signal, info, context);
    return action.sa_handler(signal);
  }
  if (action.sa_handler == SIG_IGN && !by_access) return;
  // The instruction faults again, and now the default action ends the program there.
  struct sigaction none {};
  __sigaction(signal, &none, nullptr);
  if (!by_access) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

int set_ours(const struct sigaction& action) {
  struct sigaction ours = action;
  ours.sa_sigaction = on_fault;
  ours.sa_flags |= SA_SIGINFO;
  if (!has_handler(action)) ours.sa_flags |= SA_ONSTACK;  // there may be no other
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  return __sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

void watch_faults(bool (*look)(uintptr_t, uintptr_t, bool)) {
  __sigaction(SIGSEGV, nullptr, &wanted[0]);
  look_at = look;
  if (set_ours(wanted[0]) != 0) look_at = nullptr;
}

bool shares_signal(int signal) { return signal == SIGSEGV && look_at != nullptr; }

int set_shared_action(const struct sigaction* action, struct sigaction* former) {
  const unsigned before = current.load(std::memory_order_acquire);
  const struct sigaction was = wanted[before];
  if (action != nullptr) {
    if (set_ours(*action) != 0) return -1;
    wanted[1 - before] = *action;
    current.store(1 - before, std::memory_order_release);
  }
  if (former != nullptr) *former = was;
  return 0;
}

}  // namespace pktmalloc
