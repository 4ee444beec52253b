// SPDX-License-Identifier: MIT
// ClassId: the number of a size class, which is also the number of its area in the address space.
//
// Ids 0..kMaxClasses-2 are classes. The last id, kNoClass, means "no class serves this": every
// thread's free list for it is always the sentinel, so such a request reaches the slow path without
// a test on the fast one.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class ClassId : uint8_t {};

inline constexpr unsigned kClassBits = 6;  // as drawn in the address picture, docs/design.md
inline constexpr unsigned kMaxClasses = 1U << kClassBits;
inline constexpr ClassId kNoClass{kMaxClasses - 1};

constexpr unsigned index(ClassId id) { return static_cast<unsigned>(id); }

}  // namespace pktmalloc
