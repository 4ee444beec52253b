// SPDX-License-Identifier: MIT
// Poison: fills an object's user bytes while it waits after free, so that a write is found. It
// repeats one byte; but whole pages of a large object outside the pool go back to the system, so it
// waits without memory, and nobody may read or write there.
#pragma once

#include "preload/checked/object.h"

namespace pktmalloc::checked {

// What of the user's bytes is filled: those before `head`, and from `tail` on.
struct Ends {
  size_t head = 0, tail = 0;
};

// Of an object that waits long. Between the two are the pages that went back, or nothing.
Ends long_ends(const Object& object);
void poison_long(const Object& object);

// Of one that waits shortly; if it is larger than that, which is less than a page, between the two
// are bytes as they were.
inline constexpr size_t kPoisonedWhole = 2304;
inline Ends recent_ends(const Object& object) {
  if (object.bytes() <= kPoisonedWhole) return {};
  return {96, object.bytes() - 32};
}

inline void poison(const Object& object, Ends ends) {
  fill(object.user, ends.head);
  fill(object.user + ends.tail, object.bytes() - ends.tail);
}

// Position of the first byte written since; bytes(): none was. It does not look between the ends:
// a look would fetch pages again.
size_t first_written(const Object& object, Ends ends);

// Makes all of a large object accessible again; false: the system refuses. Also in a fault's
// handler.
bool expose(const Object& object);

}  // namespace pktmalloc::checked
