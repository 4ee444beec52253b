// SPDX-License-Identifier: MIT
// ClassId: the number of a size class, as the map of the units has it (slab_pool.h).
//
// Classes are numbered from 1. kNoClass, 0, means "no class serves this", and of an address "not
// ours": every thread's free list for it is always the sentinel, so such a request reaches the slow
// path without a test on the fast one.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class ClassId : uint8_t {};

inline constexpr unsigned kMaxClasses = 64;  // kNoClass included
inline constexpr ClassId kNoClass{0};

constexpr unsigned index(ClassId id) { return static_cast<unsigned>(id); }

// The numbers of the first `count` classes, for loops: from the present one on.
class ClassIds {
 public:
  constexpr explicit ClassIds(unsigned count) : end_(count + 1) {}
  constexpr ClassIds begin() const { return *this; }
  constexpr unsigned end() const { return end_; }

  constexpr ClassId operator*() const { return static_cast<ClassId>(at_); }
  constexpr void operator++() { ++at_; }
  constexpr bool operator!=(unsigned end) const { return at_ != end; }

 private:
  unsigned at_ = 1, end_;
};

}  // namespace pktmalloc
