// SPDX-License-Identifier: MIT
// Waiting: a thread's freed objects wait before they are used again, and come back in random order.
//
// Of each class up to sixteen wait, and no more than 64 KiB, but at least two. A freed object takes
// the place of one that is chosen at random, and that one goes to the cache. So it takes sixteen
// frees of the class on average until an object can be handed out again, and nobody knows which is
// next.
//
// They come back blank: free memory begins with zeros, from the system as from here. So pointers in
// a freed object lead nowhere, and a write to it shows. A freed object's first 16 bytes are cleared
// at once; that is where lists and tables of functions are linked, and it brings the object's line
// to the processor. The rest follows when the object has waited and the line is there: W4 untouched
// takes half the time so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "preload/process/thread.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/class_id.h"
#include "sizeclass/slabs/object_states.h"

namespace pktmalloc::hardened {

// As many bytes of an object are looked at before it is handed out again: a line.
inline constexpr size_t kInspected = 64;

typedef long long Vector __attribute__((vector_size(16), may_alias));
inline constexpr size_t kSecond = sizeof(Vector);

// What malloc and free look up of a class, side by side.
struct alignas(4) ClassRow {
  uint8_t last;          // where the last vector lies in a line or a smaller object
  uint8_t last_cleared;  // the same, unless more than a line is cleared: 0
  uint8_t places_shift;  // 60 plus the logarithm of unused places
};
inline constinit ClassRow rows[kMaxClasses]{};
inline const ClassRow& row(ClassId id) { return rows[static_cast<size_t>(id)]; }

inline Vector& vector_at(void* p, size_t offset) {
  return *reinterpret_cast<Vector*>(static_cast<char*>(p) + offset);
}

inline void blank_head(void* p) { vector_at(p, 0) = Vector{}; }

inline bool is_head_blank(const void* p) {
  const Vector head = *static_cast<const Vector*>(p);
  return (head[0] | head[1]) == 0;
}

// In a line or a smaller object: the first two vectors and the last two, of which some may be the
// same. So a program of many sizes has no branch that goes now this way, now that. Only objects of
// one vector have a branch, because three more looks at what was just written take longer.

// What blank_head() left.
inline void blank_line(void* p, size_t last) {
  vector_at(p, kSecond) = vector_at(p, last - kSecond) = vector_at(p, last) = Vector{};
}

inline bool is_blank(void* p, size_t last) {
  if (last == 0) return is_head_blank(p);
  const Vector any =
      vector_at(p, 0) | vector_at(p, kSecond) | vector_at(p, last - kSecond) | vector_at(p, last);
  return (any[0] | any[1]) == 0;
}

inline constexpr unsigned kPlacesShift = 4;

typedef void* WaitingObjects[1U << kPlacesShift];  // of a class

struct Waiting {
  WaitingObjects* objects;  // by class; nullptr: nothing waits in this thread
  uint64_t random;
};
inline constinit thread_local Waiting waiting{nullptr, 0};

// The object that goes back to the cache now; nullptr: none does. Only in a thread where objects
// wait.
inline void* wait(ClassId id, void* p) {
  waiting.random = next_odd_number(waiting.random);
  WaitingObjects& places = waiting.objects[index(id)];
  return std::exchange(places[waiting.random >> row(id).places_shift], p);
}

}  // namespace pktmalloc::hardened
