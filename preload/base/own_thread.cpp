// SPDX-License-Identifier: MIT
#include "preload/base/own_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace pktmalloc {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> libc_create = nullptr;
// What a thread needs at least: static TLS lies in its stack. Of glibc's own; none elsewhere.
using LeastStack = size_t (*)(const pthread_attr_t*);
constinit std::atomic<LeastStack> least_stack = nullptr;

}  // namespace

void OwnThread::allow() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return;
  libc_create.store(reinterpret_cast<Create>(dlsym(libc, "pthread_create")),
                    std::memory_order_relaxed);
  least_stack.store(reinterpret_cast<LeastStack>(dlsym(libc, "__pthread_get_minstack")),
                    std::memory_order_relaxed);
  dlclose(libc);
}

bool OwnThread::start() {
  if (libc_create.load(std::memory_order_relaxed) == nullptr) return false;
  // What pthread_create allocates comes back here and finds the lock taken.
  if (!mutex_.try_lock()) return false;
  bool started = false;
  if (!settled()) {
    const int saved_errno = errno;
    settled_.store(true, std::memory_order_relaxed);  // also when it fails: no second try
    started = running_ = create();
    errno = saved_errno;
  }
  mutex_.unlock();
  return started;
}

void OwnThread::end(void (*wake)()) {
  mutex_.lock();
  const bool running = running_;
  running_ = false;
  mutex_.unlock();
  if (!running) return;
  ending_.store(1, std::memory_order_seq_cst);
  futex_wake_one(ending_);
  wake();
  pthread_join(thread_, nullptr);
  ending_.store(0, std::memory_order_relaxed);
  settled_.store(false, std::memory_order_relaxed);
}

bool OwnThread::create() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const LeastStack least = least_stack.load(std::memory_order_relaxed);
  pthread_attr_setstacksize(&attributes,
                            stack_bytes_ + (least != nullptr ? least(&attributes) : 0));
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool created =
      libc_create.load(std::memory_order_relaxed)(&thread_, &attributes, run_, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return created;
}

}  // namespace pktmalloc
