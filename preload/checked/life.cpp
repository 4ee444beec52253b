// SPDX-License-Identifier: MIT
// The checks in the life of the process: start, load, fork, exit (preload/checks.h).
#include <sys/auxv.h>

#include <cstring>

#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/quarantine.h"
#include "preload/checks.h"
#include "preload/options.h"

namespace pktmalloc {

void checks_start() {
  if (const unsigned long random = getauxval(AT_RANDOM); random != 0) {
    memcpy(&checked::secret, reinterpret_cast<const void*>(random), sizeof checked::secret);
  }
  start_stacks();
  checked::start_large_objects();
}

void checks_load() {
  checked::start_quarantine(options().quarantine_bytes);
  checked::start_guard(options().guard_size);
  load_unwinder();
}

void checks_thread_exit() { checked::leave_thread_of_quarantine(); }

void checks_exit() {
  checked::empty_quarantine();
  checked::inspect_all();
}

void checks_lock() AROUND_FORK {
  stop_unwinding();
  checked::large_objects_mutex().lock();
  checked::quarantine_mutex().lock();
  checked::guard_mutex().lock();
}

void checks_unlock() AROUND_FORK {
  checked::guard_mutex().unlock();
  checked::quarantine_mutex().unlock();
  checked::large_objects_mutex().unlock();
  allow_unwinding();
}

}  // namespace pktmalloc
