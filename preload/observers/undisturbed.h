// SPDX-License-Identifier: MIT
// Undisturbed: keeps signal handlers and cancellation out of what a lock of the trace guards, until
// the end of the scope. Keeps errno.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace pktmalloc {

class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);  // quiet_write handles those that our own writes raise
    sigdelset(&all, SIGXFSZ);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    pthread_sigmask(SIG_SETMASK, &all, &signals_);
  }
  ~Undisturbed() {
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    pthread_setcancelstate(cancel_state_, nullptr);
    errno = errno_;
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  int errno_ = errno;
  int cancel_state_;
  sigset_t signals_;
};

}  // namespace pktmalloc
