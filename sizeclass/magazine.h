// SPDX-License-Identifier: MIT
// Magazine: an array of free objects, used as a stack (Bonwick & Adams 2001).
//
//     slots:  | NULL | object 1 | ... | object n | (stale) ... | FULL |
//               0                       ^ top                    capacity + 1
//
// Slot 0 is always kEmptyMark and slot capacity+1 is kFullMark, so taking and putting test the
// value they touch anyway and need no count. While a thread has the magazine loaded, the thread
// keeps its top (cache.h) and `rounds` is out of date; anywhere else `rounds` is the number of
// objects. A magazine belongs to one thread or one list, never to two; others may read only what is
// atomic (magazine_stack.h) or Owned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/owned.h"

namespace pktmalloc {

inline constexpr uintptr_t kEmptyMark = 0;
inline constexpr uintptr_t kFullMark = ~uintptr_t{0};

// Magazines come in kMagazineSizes sizes; size n can hold rounds_of_size(n) objects.
inline constexpr unsigned kMagazineSizes = 5;
inline constexpr uint32_t kSmallestRounds = 16;
constexpr uint32_t rounds_of_size(unsigned size) { return kSmallestRounds << size; }

// The smallest size that holds this many rounds.
constexpr uint8_t size_for_rounds(uint32_t rounds) {
  uint8_t size = 0;
  while (size + 1U < kMagazineSizes && rounds_of_size(size) < rounds) ++size;
  return size;
}

struct Magazine {
  std::atomic<uint32_t> next;   // id of the magazine below in a stack
  std::atomic<uint32_t> depth;  // magazines from here to the bottom of that stack
  Owned<uint32_t> rounds;       // objects, while not loaded
  Owned<uint16_t> capacity;
  uint8_t size;         // index of its size
  uint8_t home;         // latest part of a sharded stack that it lay in
  uint8_t unused_[32];  // makes size n a whole number of cache lines, see below

  uintptr_t* slots() { return reinterpret_cast<uintptr_t*>(this + 1); }
  uintptr_t* objects() { return slots() + 1; }
  uintptr_t* top() { return slots() + rounds; }

  // Only while empty. It erases the old FULL before it writes the new one, and both before any
  // object comes in: erased later, the slot could hold an object.
  void set_capacity(uint32_t new_capacity) {
    slots()[capacity + 1U] = kEmptyMark;
    slots()[new_capacity + 1U] = kFullMark;
    capacity = static_cast<uint16_t>(new_capacity);
  }
};

static_assert(sizeof(Magazine) == 48);
// Whole cache lines: 192, 320, 576, 1088 and 2112 bytes; magazines of two threads share none.
constexpr size_t bytes_of_size(unsigned size) {
  return sizeof(Magazine) + (rounds_of_size(size) + 2) * sizeof(uintptr_t);
}
inline constexpr size_t kMagazineGranule = 64;
static_assert(bytes_of_size(0) == 192 && bytes_of_size(4) == 2112);
static_assert(bytes_of_size(0) % kMagazineGranule == 0 && bytes_of_size(4) % kMagazineGranule == 0);

}  // namespace pktmalloc
