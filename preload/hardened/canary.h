// SPDX-License-Identifier: MIT
// Canary: bytes behind an object that nobody may write to; who overflows it changes them
// (PKTMALLOC_CANARY).
//
//     | what was asked for | filler, up to 64 bytes | ... | word: last 8 bytes of the object |
//
// The word depends on a number that nobody outside the process knows, on the address, and on the
// bytes asked for, which it also holds. Objects with canaries have a state of their own
// (sizeclass/slabs/object_states.h), so all calls with them take the slower way by themselves, and
// those without pay nothing.
#pragma once

#include <cstddef>

#include "sizeclass/slabs/class_table.h"

namespace pktmalloc::hardened {

inline constexpr size_t kCanaryBytes = 8;

// Set once, before there are threads.
inline constinit bool canaries = false;
// The most bytes that are allocated on the fast path.
inline constinit size_t fast_bytes = ClassTable::kSmallLimit;

void start_canaries();

// What must be allocated for that many bytes.
inline size_t with_canary(size_t bytes) {
  const size_t all = bytes + (canaries ? kCanaryBytes : 0);
  return all < bytes ? bytes : all;  // more than there is, either way
}

// Of an object of a class of `object_bytes`.
void set_canary(void* p, size_t object_bytes, size_t bytes);

struct Canary {
  size_t bytes;  // asked for; the most that it can have been, if the word is overwritten
  bool whole, word_whole;
  size_t first;  // overwritten byte, if the word is whole
};
Canary read_canary(const void* p, size_t object_bytes);

}  // namespace pktmalloc::hardened
