// SPDX-License-Identifier: MIT
// Object: how the checked library dresses the memory that the program asked for.
//
//     | pad | front canary, 16 bytes | user bytes | back canary up to the end, or 4 KiB |
//     ^ raw: from the pool or the next allocator
//
// The pad exists only for alignments above the front canary's size, so that the user's bytes are
// aligned rather than the raw ones. What is known of the object stands in a record far away, where
// no stray write reaches it (lookup.h). One word of it, the head, says whether there is an object
// and what it is, so a reader never sees halves of different objects. It changes from live to freed
// once, by exchange, so if two threads free one object, one is reported.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/formats/library_kind.h"
#include "preload/serving/call.h"
#include "preload/stacks/stacks.h"
#include "sizeclass/slabs/object_states.h"

namespace pktmalloc::checked {

// Each byte of canaries, and of the user's bytes while they wait after free.
inline constexpr char kFiller = '\xDF';
inline constexpr size_t kFront = 16;
inline constexpr size_t kLeastBack = 8;
inline constexpr size_t kMostBack = 4096;  // most pages behind a large object stay untouched
inline constexpr size_t kFewBytes = 128;   // cheap to fill and to look at
inline constexpr size_t kMostBytes = (size_t{1} << 40) - 1;

// Bytes from raw to user.
inline size_t front_bytes(size_t alignment) { return std::max(alignment, kFront); }

//     | bytes, as requested: 40 | alignment code: 6 | family: 2 | state and address: 16 |
//
// The lowest bits are those of ObjectStates. The code is 0 if no alignment was asked for, else 1 +
// the logarithm.
struct Head {
  static Head of(uintptr_t raw, size_t bytes, Family family, size_t alignment) {
    const unsigned code =
        alignment == 0 ? 0 : 1 + static_cast<unsigned>(std::countr_zero(alignment));
    return {bytes << 24 | uint64_t{code} << 18 | uint64_t{static_cast<uint8_t>(family)} << 16 |
            key(raw) | ObjectStates::kLive};
  }
  size_t bytes() const { return word >> 24; }
  Family family() const { return static_cast<Family>(word >> 16 & 3); }
  size_t alignment() const { return size_t{1} << (word >> 18 & 63) >> 1; }
  size_t front() const { return front_bytes(alignment()); }
  // Of an object there, live or waiting?
  bool is_of(uintptr_t raw) const {
    static_assert(ObjectStates::kLive == 1 && ObjectStates::kFreed == 2);
    return ((word ^ key(raw)) & 0xFFFF) - 1 < 2;
  }
  // Of a live one that the family allocated without an alignment?
  bool is_plain_live_of(uintptr_t raw, Family family) const {
    return ((word ^ Head::of(raw, 0, family, 0).word) & 0xFFFFFF) == 0;
  }
  bool is_live() const { return (word & ObjectStates::kLive) != 0; }
  bool is_aligned() const { return (word >> 18 & 63) != 0; }
  Head freed() const { return {word ^ ObjectStates::kLive ^ ObjectStates::kFreed}; }
  bool operator==(const Head&) const = default;

  uint64_t word = 0;

 private:
  static uint64_t key(uintptr_t raw) { return static_cast<uint16_t>(raw >> 4 << 2); }
};

struct Record {
  std::atomic<Head> head;
  StackId allocated_at;
  StackId freed_at;  // if it is
};
constexpr LibraryNames kChecked = names_of(LibraryKind::kChecked);
static_assert(sizeof(Record) == kChecked.state_bytes && kFront == kChecked.state_at &&
              kFront + kLeastBack == kChecked.canaries && std::atomic<Head>::is_always_lock_free);

// Raw memory that may become an object, up to `end`.
struct Place {
  Record* record;
  char* raw;
  char* end;
};

// One that was looked up, as it was then.
struct Object {
  explicit operator bool() const { return record != nullptr; }
  size_t bytes() const { return head.bytes(); }
  char* raw() const { return user - head.front(); }
  char* back() const { return user + bytes(); }
  size_t back_bytes() const { return std::min(static_cast<size_t>(end - back()), kMostBack); }

  Record* record = nullptr;
  char* user = nullptr;
  char* end = nullptr;  // of its memory
  Head head{};
};

inline constexpr uint64_t kFillerWord = 0xDFDFDFDFDFDFDFDF;
using Block = uint64_t __attribute__((vector_size(16)));

// Memory of one to four times kStep bytes, taken as four steps that may overlap. So no branch asks
// for the size, which the processor would guess wrongly where sizes are many (docs/decisions.md).
template <typename Unit, size_t kStep>
struct FourSteps {
  static bool hold(size_t bytes) { return bytes - kStep <= 3 * kStep; }

  template <typename Visit>
  [[gnu::always_inline]] static void each(size_t bytes, Visit visit) {
    const size_t last = bytes - kStep, second = std::min(kStep, last);
#pragma GCC unroll 2
    for (size_t i = 0; i < kStep; i += sizeof(Unit)) {
      visit(i);
      visit(second + i);
      visit(last - second + i);
      visit(last + i);
    }
  }

  static void fill(char* begin, size_t bytes) {
    const Unit filler = Unit{} + kFillerWord;
    each(bytes, [=](size_t at) { memcpy(begin + at, &filler, sizeof filler); });
  }

  static bool filled(const char* begin, size_t bytes) {
    Unit other{};
    each(bytes, [=, &other](size_t at) {
      Unit unit;
      memcpy(&unit, begin + at, sizeof unit);
      other |= unit ^ kFillerWord;
    });
    uint64_t words[2]{};
    memcpy(words, &other, sizeof other);
    return (words[0] | words[1]) == 0;
  }
};
using Words = FourSteps<uint64_t, 8>;
using Blocks = FourSteps<Block, 32>;

inline void fill(char* begin, size_t bytes) {
  if (Words::hold(bytes)) return Words::fill(begin, bytes);
  if (Blocks::hold(bytes)) return Blocks::fill(begin, bytes);
  memset(begin, kFiller, bytes);
}

// Position of the first byte that is no filler; `bytes` if there is none.
inline size_t first_other(const char* begin, size_t bytes) {
  if (bytes == 0 || (*begin == kFiller && memcmp(begin, begin + 1, bytes - 1) == 0)) return bytes;
  size_t i = 0;
  while (begin[i] == kFiller) ++i;
  return i;
}

[[gnu::always_inline]] inline bool filled(const char* begin, size_t bytes) {
  if (Words::hold(bytes)) return Words::filled(begin, bytes);
  if (Blocks::hold(bytes)) return Blocks::filled(begin, bytes);
  if (bytes <= kFewBytes) return first_other(begin, bytes) == bytes;
  return Blocks::filled(begin, 64) && memcmp(begin, begin + 64, bytes - 64) == 0;
}

// Makes an object of it and leaves its user bytes as they are. A sweep may be looking: nothing says
// that there is an object until all of it is there.
[[gnu::always_inline]] inline void* dress(const Place& place, size_t alignment, size_t bytes,
                                          Family family, StackId allocated_at) {
  Record& record = *place.record;
  char *const user = place.raw + front_bytes(alignment), *const back = user + bytes;
  const size_t back_bytes = std::min(static_cast<size_t>(place.end - back), kMostBack);
  fill(user - kFront, kFront);
  fill(back, back_bytes);
  record.allocated_at = allocated_at;
  record.head.store(Head::of(reinterpret_cast<uintptr_t>(place.raw), bytes, family, alignment),
                    std::memory_order_release);
  return user;
}

// The object there, if there is one. Where the end was looked up while another thread put a larger
// one there, none.
inline Object object_in(const Place& place) {
  const Head head = place.record->head.load(std::memory_order_acquire);
  const auto most = static_cast<size_t>(place.end - place.raw);
  if (!head.is_of(reinterpret_cast<uintptr_t>(place.raw)) || head.front() + head.bytes() > most)
    return {};
  return {place.record, place.raw + head.front(), place.end, head};
}

// Its canaries, the back one as far as that.
[[gnu::always_inline]] inline bool edges_intact(const Object& object, size_t most = kMostBack) {
  return filled(object.user - kFront, kFront) &&
         filled(object.back(), std::min(object.back_bytes(), most));
}

}  // namespace pktmalloc::checked
