// SPDX-License-Identifier: MIT
// ClassId: the number of a size class, as the map of the units has it (slab_pool.h).
//
// Classes are numbered from 1. kNoClass, 0, means "no class serves this", and of an address "not
// ours": every thread's free list for it is always the sentinel, so such a request reaches the slow
// path without a test on the fast one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace pktmalloc {

enum class ClassId : uint8_t {};

inline constexpr unsigned kMaxClasses = 64;  // kNoClass included
inline constexpr ClassId kNoClass{0};

constexpr unsigned index(ClassId id) { return static_cast<unsigned>(id); }

// All numbers, for loops over the first so many.
inline constexpr auto kClassIds = [] {
  std::array<ClassId, kMaxClasses - 1> ids{};
  for (unsigned i = 0; i < ids.size(); ++i) ids[i] = static_cast<ClassId>(i + 1);
  return ids;
}();
using ClassIds = std::span<const ClassId>;

}  // namespace pktmalloc
