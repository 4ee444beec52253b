// SPDX-License-Identifier: MIT
// SignalsWait: until the end of the scope, no signal handler runs in the calling thread.
#pragma once

#include <signal.h>

namespace pktmalloc {

class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t former_;
};

}  // namespace pktmalloc
