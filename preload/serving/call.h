// SPDX-License-Identifier: MIT
// Call: what a call of an allocating or freeing function says of the object. The checked library
// holds the two against each other; the normal one does not look.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

enum class Family : uint8_t { kMalloc, kNew, kNewArray };

inline constexpr size_t kUntold = ~size_t{0};

// By the caller of a freeing function.
struct Told {
  Family family = Family::kMalloc;
  size_t bytes = kUntold;
  size_t alignment = kUntold;
};

}  // namespace pktmalloc
