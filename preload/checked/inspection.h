// SPDX-License-Identifier: MIT
// Inspection: checks whether an object is as it must be, and reports it if not.
#pragma once

#include "preload/checked/poison.h"
#include "preload/stacks/finding.h"

namespace pktmalloc::checked {

// What a finding says of a dressed object.
inline Facts facts_of(const Object& object) {
  return {.user = object.user,
          .bytes = object.bytes(),
          .allocated_at = object.record->allocated_at,
          .freed_at = object.head.is_live() ? 0 : object.record->freed_at};
}

// Checks an object's canaries and mends broken ones, so that one fault is reported once. `now`: the
// call that asks; 0 at exit.
void mend_edges(Object object, StackId now);  // a copy: the others stay in registers
[[gnu::always_inline]] inline void inspect_edges(const Object& object, StackId now) {
  if (!near_edges_intact(object)) [[unlikely]]
    mend_edges(object, now);
}

// Check canaries and poison of an object that has waited after free: poison has two forms.
// False: its memory cannot be used again.
bool inspect_freed(const Object& object);
void inspect_poison(const Object& object, Ends ends);

// Checks all live objects, at exit.
void inspect_all();

}  // namespace pktmalloc::checked
