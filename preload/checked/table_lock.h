// SPDX-License-Identifier: MIT
// TableLock: guards a table of the checks. Signals wait meanwhile: a handler that allocates would
// wait for the thread it interrupts; but not in strict mode, where to say so ends the thread.
// Between our fork handlers this thread already holds the lock.
#pragma once

#include "preload/base/undisturbed.h"
#include "preload/process/thread.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc::checked {

struct TableLock : private SignalsWait, private Lock {
  explicit TableLock(Mutex& mutex)
      : SignalsWait(!memory::in_strict_mode), Lock(mutex, !this_thread.forking) {}
};

}  // namespace pktmalloc::checked
