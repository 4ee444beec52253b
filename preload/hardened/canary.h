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

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/base/newer_libc.h"
#include "preload/formats/library_kind.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/slabs/class_table.h"

namespace pktmalloc::hardened {

inline constexpr size_t kCanaryBytes = names_of(LibraryKind::kHardened).canaries;

// Set once, before there are threads.
inline constinit bool canaries = false;
// The most bytes that are allocated on the fast path.
inline constinit size_t fast_bytes = ClassTable::kSmallLimit;

// What must be allocated for that many bytes.
inline size_t with_canary(size_t bytes) {
  const size_t all = bytes + (canaries ? kCanaryBytes : 0);
  return all < bytes ? bytes : all;  // more than there is, either way
}

// What is known of an object by its canary.
struct Canary {
  size_t bytes;  // asked for; the most that it can have been, if the word is overwritten
  bool whole, word_whole;
  size_t first;  // overwritten byte, if the word is whole

  static void start() {
    secret = random_number();
    canaries = true;
    fast_bytes = 0;
  }

  // Both of an object of a class of `object_bytes`.
  static void set(void* p, size_t object_bytes, size_t bytes) {
    const size_t last = object_bytes - kCanaryBytes;
    const uint64_t mine = hash(p), unused = last - bytes;
    const uint64_t filler = pattern(bytes, mine);
    auto* const object = static_cast<char*>(p);
    // The last of these may reach into the word, which comes after.
    for (size_t i = 0; i < filled_bytes(unused); i += 8) memcpy(object + bytes + i, &filler, 8);
    // Its upper half hides how many bytes lie unused before it.
    const uint64_t word = mine ^ unused << 32;
    memcpy(object + last, &word, kCanaryBytes);
  }

  static Canary read(const void* p, size_t object_bytes) {
    const size_t last = object_bytes - kCanaryBytes;
    const uint64_t mine = hash(p);
    const uint64_t hidden = word_at(p, last) ^ mine, unused = hidden >> 32;
    if (hidden << 32 != 0 || unused > last) return {last, false, false, last};
    const size_t bytes = last - unused;
    const size_t filled = filled_bytes(unused);
    for (size_t i = 0; i < filled; i += 8) {
      uint64_t wrong = word_at(p, bytes + i) ^ pattern(bytes, mine);
      if (filled - i < 8) wrong &= (uint64_t{1} << (filled - i) * 8) - 1;
      if (wrong != 0) {
        const size_t first = bytes + i + static_cast<size_t>(std::countr_zero(wrong)) / 8;
        return {bytes, false, true, first};
      }
    }
    return {bytes, true, true, 0};
  }

 private:
  static inline constinit uint64_t secret = 0;

  // Of an address. Every byte is above those of ASCII: no text shows as unchanged, nor its end, a
  // zero.
  static uint64_t hash(const void* p) {
    const uint64_t scattered = next_number(secret ^ reinterpret_cast<uintptr_t>(p));
    return (scattered ^ scattered >> 32) | 0x8080808080808080;
  }

  // Of the unused bytes behind `bytes` so many are filled, with the pattern again and again.
  static size_t filled_bytes(size_t unused) { return std::min<size_t>(unused, 64); }
  static uint64_t pattern(size_t bytes, uint64_t its_hash) {
    return std::rotr(its_hash, static_cast<int>(bytes % 8 * 8));
  }

  static uint64_t word_at(const void* p, size_t offset) {
    uint64_t word;
    memcpy(&word, static_cast<const char*>(p) + offset, sizeof word);
    return word;
  }
};

}  // namespace pktmalloc::hardened
