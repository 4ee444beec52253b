// SPDX-License-Identifier: MIT
// What the checked library does during the life of the process.
#include "preload/base/options.h"
#include "preload/checked/inspection.h"
#include "preload/checked/lookup.h"
#include "preload/checked/quarantine.h"
#include "preload/process/fault_signal.h"
#include "preload/process/process.h"

namespace pktmalloc {
namespace {

using namespace checked;

// An access that the processor refused, where that tells of an object: in a guard page, in a large
// object that waits after free, or beyond the end of a slab.

// Beyond a slab; `raw` is the memory of its first or last object.
void tell_beyond(uintptr_t raw, uintptr_t address, const char* what, StackId now) {
  const void* const p = reinterpret_cast<void*>(raw);
  if (const Object object = find_object(p))
    return tell_access(now, facts_of(object), what, address);
  tell(now, Facts{}, "%s of %p, beside the memory of objects of up to %zu bytes", what,
       reinterpret_cast<void*>(address), size_t{heap.classes()[heap.class_of(p)].object_bytes});
}

bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  if (address < 65536) return false;  // programs with a runtime of their own let these come often
  void* const p = reinterpret_cast<void*>(address);
  if (const uintptr_t raw = heap.object_beside(address))
    return tell_beyond(raw, address, what, capture_interrupted(pc)), false;
  // Below, only in report mode: from now on the access is allowed.
  if (is_guarded(p)) {
    const Object guarded = find_guarded(p);
    if (!guarded || p < guarded.end) return false;
    tell_access(capture_interrupted(pc), facts_of(guarded), what, address);
    return open_page(address);
  }
  const Object freed = find_object(p);
  if (!freed || freed.head.is_live()) return false;
  if (recent.at_work) return open_page(address);  // the program had protected it
  if (heap.owns(p)) return false;
  tell_access(capture_interrupted(pc), facts_of(freed), what, address);
  return expose(freed);
}

void load() {
  start_quarantine(options().quarantine_bytes, options().quarantine_rate);
  start_guard(options().guard_size);
  watch_faults(on_fault);
  load_unwinder();
}

bool refused(size_t bytes) {
  if (bytes > options().quarantine_bytes) return false;
  leave_quarantine(0);
  return true;
}

void at_exit() {
  leave_quarantine(0, false);
  inspect_all();
}

}  // namespace

constinit const Part checks_part{
    .start = [] { start_stacks(); },
    .load = load,
    .thread_exit = [] { leave_quarantine(options().quarantine_bytes); },
    .refused = refused,
    .exit = at_exit,
    .mutexes = {&large_objects_mutex, &quarantine_mutex},
};

}  // namespace pktmalloc
