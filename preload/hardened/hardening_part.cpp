// SPDX-License-Identifier: MIT
// Hardening part: what the hardened library does in the life of the process.
#include <utility>

#include "preload/base/options.h"
#include "preload/hardened/blank.h"
#include "preload/hardened/canary.h"
#include "preload/hardened/hardened_entry.h"
#include "preload/hardened/waiting.h"
#include "preload/process/fault_signal.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/stacks/finding.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc {
namespace {

using namespace hardened;

constexpr size_t kStackBytes = size_t{1} << 20;  // of addresses; only reports need stacks

void start() {
  start_rows(options().clear_bytes > kInspected);
  if (options().canary) start_canaries();
}

void let_go(ClassId id, void*& place) {
  release_waited_at(this_site(), id, std::exchange(place, nullptr));
}

void inspect(ClassId, void*& place) {
  if (!is_head_blank(place)) tell_written(0, place);
}

bool refused(size_t) {
  each_waiting(let_go);
  return false;  // little
}

// An access before the first object of a slab, or behind the last.
bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  const uintptr_t object = object_beside(address);
  if (object == 0) return false;
  const auto* const p = reinterpret_cast<const void*>(object);
  const size_t bytes = heap.classes()[heap.class_of(p)].object_bytes;
  tell_access(capture_interrupted(pc), {.user = p, .bytes = bytes, .is_most = true}, what, address);
  return false;
}

void load() {
  if (is_observed()) end_waiting(let_go);
  start_stacks(kStackBytes);
  load_unwinder();
  watch_faults(on_fault);
}

}  // namespace

constinit const Part hardening_part{
    .start = start,
    .load = load,
    .thread_start = begin_waiting,
    .thread_exit = [] { end_waiting(let_go); },
    .refused = refused,
    .exit = [] { each_waiting(inspect); },
};

}  // namespace pktmalloc
