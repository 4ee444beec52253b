// SPDX-License-Identifier: MIT
// Poison: fills an object's user bytes while it waits after free, so that a write is found. It
// repeats one byte; but whole pages of a large object outside the pool go back to the system, so it
// waits without memory, and nobody may read or write there.
#pragma once

#include "preload/checked/object.h"

namespace pktmalloc::checked {

inline constexpr size_t kLeastLarge = 16 << 10;  // below, giving pages back costs more

void poison_large(Header& header);
inline void poison(Header& header) {
  if (header.bytes >= kLeastLarge) [[unlikely]]
    return poison_large(header);
  fill(header.user(), kFreedByte, header.bytes);
}

// The same for an object that waits shortly: of a larger one only the two ends.
inline constexpr size_t kPoisonedHead = 96, kPoisonedTail = 32;
inline constexpr size_t kPoisonedWhole = 2048;

inline void poison_ends(Header& header) {
  char* const user = static_cast<char*>(header.user());
  if (header.bytes <= kPoisonedWhole) return fill(user, kFreedByte, header.bytes);
  fill(user, kFreedByte, kPoisonedHead);
  fill(user + header.bytes - kPoisonedTail, kFreedByte, kPoisonedTail);
}

// Makes all of a large object accessible again; false: the system refuses. Also in a fault's
// handler.
bool expose(const Header& header);

// Position of the first byte written since; header.bytes: none was. It does not look at pages that
// nobody could write to: a look would fetch them again.
size_t first_written(const Header& header);
size_t first_written_at_ends(const Header& header);
inline bool ends_unwritten(const Header& header) {
  const char* const user = static_cast<const char*>(header.user());
  if (header.bytes <= kPoisonedWhole) return filled(user, kFreedByte, header.bytes);
  return filled(user, kFreedByte, kPoisonedHead) &&
         filled(user + header.bytes - kPoisonedTail, kFreedByte, kPoisonedTail);
}

}  // namespace pktmalloc::checked
