// SPDX-License-Identifier: MIT
// Poison: what stands in the user's bytes of an object while it waits after free, so that a write
// is found. One byte many times; but of a large object outside the pool whole pages go back to the
// system and read as zero: it waits without memory.
#pragma once

#include "preload/checked/object.h"

namespace pktmalloc::checked {

inline constexpr size_t kLeastLarge = 16 << 10;  // below, giving pages back costs more than writing

void poison_large(Header& header);
inline void poison(Header& header) {
  if (header.bytes >= kLeastLarge) [[unlikely]]
    return poison_large(header);
  fill(header.user(), kFreedByte, header.bytes);
}

// Position of the first byte that was written since; header.bytes: none was.
size_t first_written(const Header& header);

}  // namespace pktmalloc::checked
