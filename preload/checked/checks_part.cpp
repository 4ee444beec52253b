// SPDX-License-Identifier: MIT
// What the checked library does during the life of the process.
#include <sys/auxv.h>

#include <cstring>

#include "preload/base/options.h"
#include "preload/checked/fault.h"
#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/quarantine.h"
#include "preload/process/part.h"

namespace pktmalloc {
namespace {

void begin() {
  if (const unsigned long random = getauxval(AT_RANDOM); random != 0) {
    memcpy(&checked::secret, reinterpret_cast<const void*>(random), sizeof checked::secret);
  }
}

void load() {
  checked::start_quarantine(options().quarantine_bytes, options().quarantine_rate);
  checked::start_guard(options().guard_size);
  checked::watch_faults();
  load_unwinder();
}

void thread_exit() { checked::leave_thread_of_quarantine(); }

bool refused(size_t bytes) {
  if (bytes > options().quarantine_bytes) return false;
  checked::empty_quarantine();
  return true;
}

void at_exit() {
  checked::inspect_quarantine();
  checked::inspect_all();
}

void lock() AROUND_FORK {
  checked::large_objects_mutex().lock();
  checked::quarantine_mutex().lock();
}

void unlock() AROUND_FORK {
  checked::quarantine_mutex().unlock();
  checked::large_objects_mutex().unlock();
}

}  // namespace

constinit const Part checks_part{
    .begin = begin,
    .start = [] { start_stacks(); },
    .load = load,
    .thread_exit = thread_exit,
    .refused = refused,
    .exit = at_exit,
    .lock = lock,
    .unlock = unlock,
};

}  // namespace pktmalloc
