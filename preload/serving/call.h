// SPDX-License-Identifier: MIT
// Call: what a call of an allocating or freeing function says about the object. The checked library
// compares the two; the normal one does not look.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

enum class Family : uint8_t { kMalloc, kNew, kNewArray };

inline constexpr size_t kUntold = ~size_t{0};

// What the caller of a freeing function says.
struct Told {
  Family family = Family::kMalloc;
  size_t bytes = kUntold;
  size_t alignment = kUntold;
};

// Of that function.
inline const char* name_of(const Told& told) {
  if (told.family == Family::kNew) return "operator delete";
  if (told.family == Family::kNewArray) return "operator delete[]";
  return told.alignment != kUntold ? "free_aligned_sized"
         : told.bytes != kUntold   ? "free_sized"
                                   : "free";
}

}  // namespace pktmalloc
