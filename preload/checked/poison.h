// SPDX-License-Identifier: MIT
// Poison: fills an object's user bytes while it waits after free, so that a write is found. It
// repeats one byte; but whole pages of a large object outside the pool go back to the system and
// read as zero, so it waits without memory.
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

// Position of the first byte written since; header.bytes: none was.
size_t first_written(const Header& header);

}  // namespace pktmalloc::checked
