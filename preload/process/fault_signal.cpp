// SPDX-License-Identifier: MIT
#include "preload/process/fault_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "preload/base/other_stack.h"
#include "preload/formats/quiet_write.h"
#include "preload/process/process.h"
#include "sizeclass/base/machine.h"

namespace pktmalloc {
namespace {

// The guard's, and the twin's.
LooksAt* lookers[2];
unsigned looker_count = 0;
constinit std::atomic<bool> is_shared = false;

// What the program wants. A handler may interrupt the change, and two threads may change it at
// once, so each change takes another place.
constexpr unsigned kPlaces = 8;
struct sigaction wanted[kPlaces];
constinit std::atomic<unsigned> changes = 0;
constinit std::atomic<unsigned> current = 0;
constexpr struct sigaction kDefault {};

// Like the kernel: whatever the flags say.
bool has_handler(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const bool by_access = info->si_code > 0;  // else another process or thread sent it
  ucontext_t& interrupted = *static_cast<ucontext_t*>(context);
  const uintptr_t pc = machine::interrupted_at(interrupted);
  if (by_access && goes_on != nullptr && is_daring(pc)) {
    change_signal_mask(SIG_SETMASK, &interrupted.uc_sigmask);
    longjmp(*goes_on, 1);
  }
  const auto may_try_again = [&](LooksAt* look) {
    return look(reinterpret_cast<uintptr_t>(info->si_addr), pc,
                machine::was_writing(interrupted) ? "write" : "read");
  };
  if (by_access && std::any_of(lookers, lookers + looker_count, may_try_again)) return;
  const struct sigaction action = wanted[current.load(std::memory_order_acquire)];
  if (has_handler(action)) {
    if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
      set_shared_action(&kDefault, nullptr);
    }
    if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(signal, info, context);
    return action.sa_handler(signal);
  }
  // The instruction faults again, and where that is blocked it ends the program: a sandbox may
  // refuse to change the action.
  if (by_access)
    sigaddset(&interrupted.uc_sigmask, signal);
  else if (__sigaction(signal, &kDefault, nullptr) == 0)
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

// SIG_IGN stays what it is: programs started by this one inherit it, and calls are not interrupted.
int set_ours(const struct sigaction& action) {
  if (action.sa_handler == SIG_IGN) return __sigaction(SIGSEGV, &action, nullptr);
  struct sigaction ours = action;
  ours.sa_sigaction = on_fault;
  ours.sa_flags |= SA_SIGINFO;
  if (!has_handler(action)) ours.sa_flags |= SA_ONSTACK;  // there may be no other
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  return __sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace

void share_faults() {
  if (is_shared.load(std::memory_order_relaxed)) return;
  make_other_stack();
  __sigaction(SIGSEGV, nullptr, &wanted[0]);
  is_shared.store(true, std::memory_order_relaxed);
  if (set_ours(wanted[0]) != 0) is_shared.store(false, std::memory_order_relaxed);
}

void watch_faults(LooksAt* look) {
  lookers[looker_count++] = look;
  share_faults();
}

bool shares_signal(int signal) {
  return signal == SIGSEGV && is_shared.load(std::memory_order_relaxed);
}

int set_shared_action(const struct sigaction* action, struct sigaction* former) {
  const struct sigaction was = wanted[current.load(std::memory_order_acquire)];
  if (action != nullptr) {
    // A child of vfork has the parent's memory, but its own actions.
    const bool ours = in_own_memory();
    if ((ours ? set_ours(*action) : __sigaction(SIGSEGV, action, nullptr)) != 0) return -1;
    if (ours) {
      const unsigned place = (changes.fetch_add(1, std::memory_order_relaxed) + 1) % kPlaces;
      wanted[place] = *action;
      current.store(place, std::memory_order_release);
    }
  }
  if (former != nullptr) *former = was;
  return 0;
}

}  // namespace pktmalloc
