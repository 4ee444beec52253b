// SPDX-License-Identifier: MIT
// Poison: fills an object's user bytes while it waits after free, so that a write is found. It
// repeats one byte; but whole pages of a large object outside the pool go back to the system, so it
// waits without memory, and nobody may read or write there.
#pragma once

#include "preload/checked/object.h"

namespace pktmalloc::checked {

inline constexpr size_t kLeastLarge = 16 << 10;  // below, giving pages back costs more

void poison_large(const Object& object);
inline void poison(const Object& object) {
  if (object.bytes() >= kLeastLarge) [[unlikely]]
    return poison_large(object);
  fill(object.user, kFiller, object.bytes());
}

// The same for an object that waits shortly: of a larger one only the two ends.
inline constexpr size_t kPoisonedHead = 96, kPoisonedTail = 32;
inline constexpr size_t kPoisonedWhole = 2048;

inline void poison_ends(const Object& object) {
  if (object.bytes() <= kPoisonedWhole) return fill(object.user, kFiller, object.bytes());
  fill(object.user, kFiller, kPoisonedHead);
  fill(object.back() - kPoisonedTail, kFiller, kPoisonedTail);
}

// Makes all of a large object accessible again; false: the system refuses. Also in a fault's
// handler.
bool expose(const Object& object);

// Position of the first byte written since; bytes(): none was. It does not look at pages that
// nobody could write to: a look would fetch them again.
size_t first_written(const Object& object);
size_t first_written_at_ends(const Object& object);
// Of one that waited shortly, with the canaries beside what is poisoned: they are filled alike.
inline bool recent_intact(const Object& object) {
  const char* const front = object.user - kFront;
  const size_t back = object.near_back_bytes();
  if (object.bytes() <= kPoisonedWhole) {
    return filled(front, kFiller, kFront + object.bytes() + back);
  }
  return filled(front, kFiller, kFront + kPoisonedHead) &&
         filled(object.back() - kPoisonedTail, kFiller, kPoisonedTail + back);
}

}  // namespace pktmalloc::checked
