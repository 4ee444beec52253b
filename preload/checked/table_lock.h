// SPDX-License-Identifier: MIT
// TableLock: around a table of the checks. Signals wait meanwhile: a handler that allocates would
// wait for the thread that it interrupts. Between our fork handlers this thread holds the lock
// already.
#pragma once

#include <signal.h>

#include "preload/process/thread.h"
#include "sizeclass/mutex.h"

namespace pktmalloc::checked {

class TableLock {
 public:
  explicit TableLock(Mutex& mutex) : mutex_(this_thread.forking ? nullptr : &mutex) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former_);
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~TableLock() {
    if (mutex_ != nullptr) mutex_->unlock();
    pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  Mutex* const mutex_;
  sigset_t former_;
};

}  // namespace pktmalloc::checked
