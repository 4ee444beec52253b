// SPDX-License-Identifier: MIT
// Magazine: an array of free objects, used as a stack (Bonwick & Adams 2001).
//
//     header, slots:  ... | NULL | object 1 | ... | object n | (stale) ... | FULL |
//                           0                       ^ top                    capacity + 1
//
// Slot 0 is always kEmptyMark and slot capacity+1 is kFullMark, so taking and putting test the
// value they touch anyway and need no count. While a thread has the magazine loaded, the thread
// keeps its top (cache.h) and `rounds` is out of date; anywhere else `rounds` is the number of
// objects. A magazine belongs to one thread or one list, never to two; others may read only what is
// atomic (magazine_stack.h) or Owned.
//
// Taking an object prefetches the one that comes kAhead objects later. So kAhead words below slot 0
// can be read as if objects lay there. One of them holds the address of the mail that the next trip
// goes to (lean_trip.h); the others of no other use that of the magazine itself, which is quickly
// found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/owned.h"

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

// Enough to hide a fetch from memory behind what a program does with each object, few enough for
// the processor's nearest cache: of 64-byte objects, 1.8 KiB (docs/decisions.md).
inline constexpr ptrdiff_t kAhead = 28;

struct Magazine {
  uintptr_t ahead[24];
  std::atomic<uint32_t> next;   // id of the magazine below in a stack
  std::atomic<uint32_t> depth;  // magazines from here to the bottom of that stack
  std::atomic<uint32_t> all;    // objects in these
  Owned<uint32_t> rounds;       // objects, while not loaded
  Owned<uint16_t> capacity;
  uint8_t size;             // index of its size
  uintptr_t more_ahead[3];  // in the line of slot 0, as the fields above are

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

static_assert(sizeof(Magazine) == 240 && sizeof(Magazine) >= kAhead * sizeof(uintptr_t));
// Whole cache lines: 384, 512, 768, 1280 and 2304 bytes; magazines of two threads share none.
constexpr size_t bytes_of_size(unsigned size) {
  return sizeof(Magazine) + (rounds_of_size(size) + 2) * sizeof(uintptr_t);
}
inline constexpr size_t kMagazineGranule = 64;
static_assert(bytes_of_size(0) == 384 && bytes_of_size(4) == 2304);
static_assert(bytes_of_size(0) % kMagazineGranule == 0 && bytes_of_size(4) % kMagazineGranule == 0);

}  // namespace pktmalloc
