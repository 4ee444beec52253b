// SPDX-License-Identifier: MIT
#include "preload/base/own_thread.h"
#include "preload/base/library_function.h"
#include "preload/base/undisturbed.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace pktmalloc {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> libc_create = nullptr;
// The least stack a thread needs: static TLS lies in it. glibc's own function; missing elsewhere.
using LeastStack = size_t (*)(const pthread_attr_t*);
constinit std::atomic<LeastStack> least_stack = nullptr;

// The process's processors at load. None if the machine has more than fit: then those of the
// starter. Aligned so that it lies with what else is written at start.
alignas(64) constinit cpu_set_t processors{};
constinit int nice_value = 0;

// Of the calling thread. By the system's number: libc's own function lies on a page that a process
// would touch for it alone. False if the machine has more than fit.
bool read_processors(cpu_set_t& set) {
  CPU_ZERO(&set);
  return syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0;
}

// These must be set from outside: pinned beside a thread that spins at a real-time priority, ours
// would not run its first instruction. It leaves alone what is already right, because many services
// may not set such things.
void schedule(pthread_attr_t& attributes) {
  cpu_set_t now;
  if (CPU_COUNT(&processors) > 0 && read_processors(now) && !CPU_EQUAL(&now, &processors)) {
    pthread_attr_setaffinity_np(&attributes, sizeof processors, &processors);
  }
  const int policy = sched_getscheduler(0);
  if (policy == SCHED_FIFO || policy == SCHED_RR) {
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);  // that is, SCHED_OTHER
  }
}

}  // namespace

void OwnThread::allow() {
  read_processors(processors);
  nice_value = getpriority(PRIO_PROCESS, 0);
  libc_create = find_in_libc<Create>("pthread_create");
  least_stack = find_in_libc<LeastStack>("__pthread_get_minstack", "GLIBC_PRIVATE");
}

bool OwnThread::start(bool (*in_own_memory)()) {
  if (libc_create.load(std::memory_order_relaxed) == nullptr || walks_loader) return false;
  if (memory::in_strict_mode || !in_own_memory()) return false;
  // pthread_create's own allocations come back here and find the lock taken.
  if (!mutex.try_lock()) return false;
  bool started = false;
  if (!settled()) {
    const KeepErrno keep_errno;
    settled_.store(true, std::memory_order_relaxed);  // also when it fails: no second try
    started = running_ = create();
  }
  mutex.unlock();
  return started;
}

void OwnThread::end(void (*wake)()) {
  mutex.lock();
  const bool running = running_;
  running_ = false;
  mutex.unlock();
  if (!running) return;
  ending_.store(1, std::memory_order_seq_cst);
  futex_wake_one(ending_);
  wake();
  pthread_join(thread_, nullptr);
  forget();
}

void* OwnThread::enter(void* self) {
  OwnThread& thread = *static_cast<OwnThread*>(self);
  thread.entered_.store(1, std::memory_order_relaxed);
  futex_wake_one(thread.entered_);
  prctl(PR_SET_NAME, thread.name_);
  if (getpriority(PRIO_PROCESS, 0) != nice_value) setpriority(PRIO_PROCESS, 0, nice_value);
  thread.run_();
  return nullptr;
}

bool OwnThread::create() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  schedule(attributes);
  const LeastStack least = least_stack.load(std::memory_order_relaxed);
  pthread_attr_setstacksize(&attributes,
                            stack_bytes_ + (least != nullptr ? least(&attributes) : 0));
  const SignalsWait in_the_new_thread;  // it inherits the mask
  const auto make = libc_create.load(std::memory_order_relaxed);
  const bool created = make(&thread_, &attributes, enter, this) == 0;
  pthread_attr_destroy(&attributes);
  // The child of a raw clone would wait in libc's setuid for a thread that does not run yet. Not
  // for ever, lest one that spins at a real-time priority hold it up.
  constexpr timespec kMost{0, 10'000'000};
  if (created) futex_wait(entered_, 0, &kMost);
  return created;
}

}  // namespace pktmalloc
