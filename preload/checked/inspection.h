// SPDX-License-Identifier: MIT
// Inspection: checks whether an object is as it must be, and reports it if not.
//
// That a write to an object that waits after free is found, its user bytes are poisoned: filled
// with one byte. But whole pages of an object that no class serves are protected if it waits long:
// nobody may read or write there.
#pragma once

#include "preload/checked/object.h"
#include "preload/stacks/finding.h"

namespace pktmalloc::checked {

// What a finding says of a dressed object.
inline Facts facts_of(const Object& object) {
  return {.user = object.user,
          .bytes = object.bytes(),
          .allocated_at = object.record->allocated_at,
          .freed_at = object.head.is_live() ? 0 : object.record->freed_at};
}

// What of the user's bytes is filled: those before `head`, and from `tail` on.
struct Ends {
  size_t head = 0, tail = 0;
};

// Of an object that waits shortly; if it is larger than that, which is less than a page, between
// the two are bytes as they were.
inline constexpr size_t kPoisonedWhole = 2304;
inline Ends recent_ends(const Object& object) {
  if (object.bytes() <= kPoisonedWhole) return {};
  return {96, object.bytes() - 32};
}

inline void poison(const Object& object, Ends ends) {
  fill(object.user, ends.head);
  fill(object.user + ends.tail, object.bytes() - ends.tail);
}
void poison_long(const Object& object);  // of one that waits long

// Makes all of a large object accessible again; false: the system refuses. Also in a fault's
// handler.
bool expose(const Object& object);

// Checks an object's canaries and mends broken ones, so that one fault is reported once. `now`: the
// call that asks; 0 at exit. Of a long back canary only what lies near is looked at here: all of it
// would cost more than the rest.
void mend_edges(Object object, StackId now);  // a copy: the others stay in registers
[[gnu::always_inline]] inline void inspect_edges(const Object& object, StackId now) {
  if (!edges_intact(object, kFewBytes)) [[unlikely]]
    mend_edges(object, now);
}

// Check canaries and poison of an object that has waited after free: long, or with these ends.
// False: its memory cannot be used again.
bool inspect_freed(const Object& object);
void inspect_poison(const Object& object, Ends ends);

// Checks all live objects, at exit.
void inspect_all();

}  // namespace pktmalloc::checked
