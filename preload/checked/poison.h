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

// Of one that waits shortly; if it is large, between the two are bytes as they were.
inline constexpr size_t kPoisonedWhole = 2048;
inline constexpr size_t kPoisonedHead = 96, kPoisonedTail = 32;
inline Ends recent_ends(const Object& object) {
  if (object.bytes() <= kPoisonedWhole) return {};
  return {kPoisonedHead, object.bytes() - kPoisonedTail};
}
inline void poison_recent(const Object& object) {
  if (object.bytes() <= kPoisonedWhole) return fill(object.user, object.bytes());
  fill(object.user, kPoisonedHead);
  fill(object.back() - kPoisonedTail, kPoisonedTail);
}
// Looks at the canaries, too: they lie beside what is filled, and are filled alike.
inline bool recent_intact(const Object& object) {
  const char* const front = object.user - kFront;
  const size_t back = object.near_back_bytes();
  if (object.bytes() <= kPoisonedWhole) return filled(front, kFront + object.bytes() + back);
  return filled(front, kFront + kPoisonedHead) &&
         filled(object.back() - kPoisonedTail, kPoisonedTail + back);
}

// Position of the first byte written since; bytes(): none was. It does not look between the ends:
// a look would fetch pages again.
size_t first_written(const Object& object, Ends ends);

// Makes all of a large object accessible again; false: the system refuses. Also in a fault's
// handler.
bool expose(const Object& object);

}  // namespace pktmalloc::checked
