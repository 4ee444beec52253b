// SPDX-License-Identifier: MIT
#include "preload/own_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace pktmalloc {
namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit std::atomic<Create> libc_create = nullptr;

}  // namespace

void OwnThread::allow() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return;
  libc_create.store(reinterpret_cast<Create>(dlsym(libc, "pthread_create")),
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
    started = create();
    errno = saved_errno;
  }
  mutex_.unlock();
  return started;
}

bool OwnThread::create() const {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes_);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool created =
      libc_create.load(std::memory_order_relaxed)(&thread, &attributes, run_, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return created;
}

}  // namespace pktmalloc
