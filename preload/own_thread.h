// SPDX-License-Identifier: MIT
// OwnThread: a thread of the library's own, at most one of each kind in a process. Detached, all
// signals blocked, small stack.
//
// It is started at load or from the slow path of allocating functions, never from free: libc calls
// free with its thread-stack lock held, which pthread_create takes as well. In the child of a fork
// it is gone; the child's next consideration may start its own.
#pragma once

#include <atomic>
#include <cstddef>

#include "sizeclass/mutex.h"

namespace pktmalloc {

class OwnThread {
 public:
  // `run` never returns; it names itself.
  constexpr OwnThread(LockRank rank, size_t stack_bytes, void* (*run)(void*))
      : mutex_(rank), stack_bytes_(stack_bytes), run_(run) {}

  // At load, before any start(): looks up libc's own pthread_create, because a wrapper's may be
  // what is allocating.
  static void allow();

  // It runs, or never will.
  bool settled() const { return settled_.load(std::memory_order_relaxed); }

  // Starts it if nobody did; true if this call did.
  bool start();

  // In the child of a fork.
  void forget() { settled_.store(false, std::memory_order_relaxed); }

  // Held while it is being started; for the fork handlers.
  Mutex& mutex() { return mutex_; }

 private:
  bool create() const;

  Mutex mutex_;
  size_t stack_bytes_;
  void* (*run_)(void*);
  std::atomic<bool> settled_ = false;
};

}  // namespace pktmalloc
