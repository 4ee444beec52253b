// SPDX-License-Identifier: MIT
// SignalsWait: until the end of the scope, no signal handler runs in the calling thread; or all is
// as it was, if that is not wanted.
#pragma once

#include <signal.h>

namespace pktmalloc {

class SignalsWait {
 public:
  explicit SignalsWait(bool wanted = true) : wanted_(wanted) {
    if (!wanted_) return;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~SignalsWait() {
    if (wanted_) pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  const bool wanted_;
  sigset_t former_;
};

}  // namespace pktmalloc
