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

// The numbers of the first `count` classes, for loops.
class ClassIds {
 public:
  constexpr explicit ClassIds(unsigned count) : count_(count) {}

  struct Iterator {
    unsigned at;
    constexpr ClassId operator*() const { return static_cast<ClassId>(at); }
    constexpr void operator++() { ++at; }
    constexpr bool operator!=(Iterator other) const { return at != other.at; }
  };
  constexpr Iterator begin() const { return {1}; }
  constexpr Iterator end() const { return {count_ + 1}; }

 private:
  unsigned count_;
};

}  // namespace pktmalloc
