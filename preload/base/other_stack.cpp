// SPDX-License-Identifier: MIT
#include "preload/base/other_stack.h"

#include <ucontext.h>

#include <atomic>

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

constexpr size_t kBytes = size_t{256} << 10;  // the C++ runtime's demangler wants half of it
constexpr size_t kGuardBytes = size_t{64} << 10;

void* stack = nullptr;
constinit std::atomic<bool> in_use = false;
void (*job)(void*, bool) = nullptr;  // of the user, like the rest
void* its_argument = nullptr;
ucontext_t caller;
ucontext_t there;

void start() { job(its_argument, true); }

}  // namespace

void make_other_stack() {
  if (stack != nullptr) return;
  char* const guard = static_cast<char*>(map_lazily(kGuardBytes + kBytes, PROT_NONE));
  if (guard == nullptr || mprotect(guard + kGuardBytes, kBytes, PROT_READ | PROT_WRITE) != 0)
    return;
  stack = guard + kGuardBytes;
}

void run_on_other_stack(void (*run)(void*, bool), void* argument) {
  if (stack == nullptr || in_use.exchange(true, std::memory_order_acquire))
    return run(argument, false);
  job = run;
  its_argument = argument;
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kBytes;
  there.uc_link = &caller;
  makecontext(&there, start, 0);
  swapcontext(&caller, &there);
  in_use.store(false, std::memory_order_release);
}

}  // namespace pktmalloc
