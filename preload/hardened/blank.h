// SPDX-License-Identifier: MIT
// Blank: free memory begins with zeros, from the system as from here. So pointers in a freed object
// lead nowhere, and a write to it shows.
//
// A freed object's first 16 bytes are cleared at once; that is where lists and tables of functions
// are linked, and it brings the object's line to the processor. The rest follows when the object
// has waited (waiting.h) and the line is there: W4 untouched takes half the time so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/slabs/object_states.h"

namespace pktmalloc::hardened {

// As many bytes of an object are looked at before it is handed out again: a line.
inline constexpr size_t kInspected = 64;

typedef long long Vector __attribute__((vector_size(16), may_alias));

// Where the vectors behind the first lie, in a line or a smaller object. There some are the same:
// so a program of many sizes has no branch that goes now this way, now that. Only objects of one
// vector have a branch, because three more looks at what was just written take longer.
typedef uint8_t Line[3];

// What malloc and free look up of a class, side by side.
struct alignas(16) ClassRow {
  uintptr_t words;       // of the objects' states, as in ObjectStates::Place
  uint8_t shift;         // likewise
  uint8_t places_shift;  // 60 plus the logarithm of unused places (waiting.h)
  Line line;
  bool clears_more;  // than a line

  ObjectStates::Entry state_of(const void* p) const {
    const auto address = reinterpret_cast<uintptr_t>(p);
    return {*reinterpret_cast<std::atomic<uint16_t>*>(words + (address >> shift) * 2), address};
  }
};
inline constinit ClassRow rows[kMaxClasses]{};
inline const ClassRow& row(ClassId id) { return rows[index(id)]; }

inline Vector& vector_at(void* p, size_t offset) {
  return *reinterpret_cast<Vector*>(static_cast<char*>(p) + offset);
}

inline void blank_head(void* p) { vector_at(p, 0) = Vector{}; }

inline bool is_head_blank(const void* p) {
  const Vector head = *static_cast<const Vector*>(p);
  return (head[0] | head[1]) == 0;
}

// What blank_head() left.
inline void blank_line(void* p, const Line& line) {
  if (line[2] == 0) return;
  vector_at(p, line[0]) = vector_at(p, line[1]) = vector_at(p, line[2]) = Vector{};
}

inline bool is_blank(void* p, const Line& line) {
  if (line[2] == 0) return is_head_blank(p);
  const Vector any =
      vector_at(p, 0) | vector_at(p, line[0]) | vector_at(p, line[1]) | vector_at(p, line[2]);
  return (any[0] | any[1]) == 0;
}

}  // namespace pktmalloc::hardened
