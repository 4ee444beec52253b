// SPDX-License-Identifier: MIT
// Holder: the thread that holds a cache, and whether it has ended without giving the cache back: by
// the system call `exit`, past all destructors, or after its last destructor.
//
// A thread holds a robust mutex as long as it holds the cache. However it ends, the kernel marks
// that mutex before anybody who waits for the thread can go on, so before the thread's memory can
// be somebody else's. No thread is mistaken for another one with the same number. Where the kernel
// knows no robust mutexes (qemu's user mode) no thread ever has ended so.
//
// All under the lock of the caches, but in the child of a fork, which has one thread.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>

namespace pktmalloc {

class Holder {
 public:
  // The calling thread, which is `thread` to its caller; nullptr: nobody needs to know how it ends.
  void enter(void* thread) {
    entered_in_ = forks_;
    if ((thread_ = thread) == nullptr) return;
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex_, &robust);
    pthread_mutexattr_destroy(&robust);
    pthread_mutex_lock(&mutex_);
  }
  // By the thread that entered.
  void leave() {
    if (thread() != nullptr) pthread_mutex_unlock(&mutex_);
    thread_ = nullptr;
  }
  // In the child of a fork, where other threads' mutexes are never unlocked: nobody holds any. It
  // writes to none of them, lest the system copy a page of each.
  static void forget_all() { ++forks_; }

  void* thread() const { return entered_in_ == forks_ ? thread_ : nullptr; }

  // True once: from then on there is no thread.
  bool has_ended() {
    if (thread() == nullptr || pthread_mutex_trylock(&mutex_) != EOWNERDEAD) return false;
    pthread_mutex_consistent(&mutex_);
    leave();
    return true;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  void* thread_ = nullptr;
  uint32_t entered_in_ = 0;
  static inline constinit uint32_t forks_ = 0;
};

}  // namespace pktmalloc
