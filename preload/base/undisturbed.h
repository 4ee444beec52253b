// SPDX-License-Identifier: MIT
// Undisturbed: until the end of the scope nothing else happens in the calling thread.
#pragma once

#include <pthread.h>

#include <initializer_list>

#include "preload/formats/quiet_write.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {

// No signal handler runs, but for some signals' if need be; or all is as it was, if that is not
// wanted. Always SIGSYS's: a sandbox answers system calls by it, and ends a process that blocks it.
class SignalsWait {
 public:
  explicit SignalsWait(bool wanted = true, std::initializer_list<int> others = {})
      : wanted_(wanted) {
    if (!wanted_) return;
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSYS);
    for (const int signal : others) sigdelset(&all, signal);
    change_signal_mask(SIG_BLOCK, &all, &former_);
  }
  ~SignalsWait() {
    if (wanted_) change_signal_mask(SIG_SETMASK, &former_);
  }
  SignalsWait(const SignalsWait&) = delete;

 private:
  const bool wanted_;
  sigset_t former_;
};

// The thread is not cancelled.
class CancellationWaits {
 public:
  CancellationWaits() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former_); }
  ~CancellationWaits() { pthread_setcancelstate(former_, nullptr); }
  CancellationWaits(CancellationWaits&&) = delete;

 private:
  int former_ = PTHREAD_CANCEL_ENABLE;
};

// Both, around writes of our own: quiet_write() handles the signals that these raise. Keeps errno.
struct Undisturbed {
  KeepErrno keep{};
  CancellationWaits no_cancellation{};
  SignalsWait no_signals{true, {SIGPIPE, SIGXFSZ}};
};

}  // namespace pktmalloc
