// SPDX-License-Identifier: MIT
// Object: how the checked library dresses the memory that the program asked for.
//
//     | pad | header, ends in the front canary | user bytes | back canary up to the end |
//     ^ raw: from the pool or the next allocator
//
// The pad exists only for alignments above the header's size, so that the user's bytes are aligned
// rather than the raw ones. The header carries a seal, a keyed sum of its fields and its address:
// without it there is no object. `freed_at` decides who frees: it is 0 while the object is live and
// changes once, by exchange, so if two threads free one object, one is reported.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/serving/call.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc::checked {

inline constexpr uint8_t kBackByte = 0xCE;   // after the user's bytes
inline constexpr uint8_t kFreedByte = 0xDF;  // user's bytes while they wait after free
inline constexpr size_t kLeastBack = 8;
inline constexpr size_t kMostBack = 0xFFFF;

// Differs between processes, so that no program's data looks like a header. Changed once, before
// the first object.
inline constinit uint64_t secret = 0x5F2B8C61D3A94E07;

struct alignas(16) Header {
  uint64_t bytes;  // as requested
  StackId allocated_at;
  std::atomic<StackId> freed_at;
  uint32_t sum;
  // The back canary's bytes (16 bits), alignment code, family (8 bits each): one word, because the
  // sum is computed from it at once, and a load of several stores has to wait for them.
  uint32_t shape;
  uint64_t canary;

  void* user() const { return const_cast<Header*>(this) + 1; }
  size_t back() const { return shape >> 16; }
  Family family() const { return static_cast<Family>(shape & 0xFF); }
  // 0: none was asked for. The code is 0, or 1 + the logarithm.
  size_t alignment() const { return size_t{1} << (shape >> 8 & 0xFF) >> 1; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(this); }

  void set_shape(Family family, size_t alignment, size_t back) {
    const unsigned code =
        alignment == 0 ? 0 : 1 + static_cast<unsigned>(std::countr_zero(alignment));
    shape = static_cast<uint32_t>(back << 16 | code << 8 | static_cast<unsigned>(family));
  }

  // Of everything that stays the same while the object lives; never 0.
  uint32_t sum_of(uint64_t its_bytes, uint32_t its_shape, StackId its_stack) const {
    return sum_of(its_bytes, its_shape, its_stack, expected_canary());
  }
  static uint32_t sum_of(uint64_t its_bytes, uint32_t its_shape, StackId its_stack,
                         uint64_t its_canary) {
    const uint64_t all =
        its_bytes ^ uint64_t { its_shape } << 32 ^ uint64_t { its_stack } << 16 ^ ~its_canary;
    return static_cast<uint32_t>(all * 0xD6E8FEB86659FD93 >> 32) | 1;
  }
  uint32_t expected_sum() const { return sum_of(bytes, shape, allocated_at); }
  uint64_t expected_canary() const { return ~secret ^ address(); }
  // Canary and no sum: nothing here is an object just now. Unseal a header before changing it,
  // because a sweep at exit may be looking.
  void unseal() {
    canary = expected_canary();
    std::atomic_thread_fence(std::memory_order_release);
    sum = 0;
    std::atomic_thread_fence(std::memory_order_release);
  }
  void seal() {
    std::atomic_thread_fence(std::memory_order_release);  // a sweep reads the sum first
    sum = expected_sum();
  }
  bool sealed() const { return sum == expected_sum(); }
  // Of a copy outside the process, where nobody knows the secret: canary and sum fit each other.
  bool fits_itself() const { return sum == sum_of(bytes, shape, allocated_at, canary); }
  // Somebody else wrote to a header that was here: it is neither sealed nor unsealed. Looks twice,
  // because another thread may be changing it.
  bool overwritten() const {
    for (int look = 0; look < 2; ++look) {
      const uint32_t seen = __atomic_load_n(&sum, __ATOMIC_ACQUIRE);
      if (seen != 0 ? seen == expected_sum() : canary == expected_canary()) return false;
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return true;
  }
};
static_assert(sizeof(Header) == 32 && alignof(std::max_align_t) <= 16);

inline Header* header_of(void* user) { return static_cast<Header*>(user) - 1; }
inline const Header* header_of(const void* user) { return static_cast<const Header*>(user) - 1; }

// Bytes from raw to user.
inline size_t front_bytes(size_t alignment) {
  return alignment > sizeof(Header) ? alignment : sizeof(Header);
}
inline void* raw_of(const Header& header) {
  return static_cast<char*>(header.user()) - front_bytes(header.alignment());
}

// Canaries and poison repeat one byte. Up to 128 of them are words that may overlap, which costs
// less than a call.
inline constexpr uint64_t kEachByte = 0x0101010101010101;
inline constexpr size_t kFewBytes = 128;
using Block = unsigned char __attribute__((vector_size(16), aligned(1), may_alias));
static_assert(sizeof(Block) == 2 * sizeof(uint64_t));

inline void fill(void* memory, uint8_t value, size_t bytes) {
  char* const begin = static_cast<char*>(memory);
  if (bytes - sizeof(Block) <= kFewBytes - sizeof(Block)) {
    const Block block = Block{} + value;
    for (size_t i = 0; i < bytes - sizeof block; i += sizeof block) {
      *reinterpret_cast<Block*>(begin + i) = block;
    }
    *reinterpret_cast<Block*>(begin + bytes - sizeof block) = block;
  } else if (bytes - sizeof(uint64_t) < sizeof(uint64_t)) {
    const uint64_t word = value * kEachByte;
    memcpy(begin, &word, sizeof word);
    memcpy(begin + bytes - sizeof word, &word, sizeof word);
  } else {
    memset(memory, value, bytes);
  }
}

// Position of the first byte that is not `value`; `bytes` if there is none.
inline size_t first_other(const void* memory, uint8_t value, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(memory);
  if (bytes == 0 || (*p == value && memcmp(p, p + 1, bytes - 1) == 0)) return bytes;
  size_t i = 0;
  while (p[i] == value) ++i;
  return i;
}

inline bool filled(const void* memory, uint8_t value, size_t bytes) {
  const char* const begin = static_cast<const char*>(memory);
  if (bytes - sizeof(Block) <= kFewBytes - sizeof(Block)) {
    const Block block = Block{} + value;
    Block other = *reinterpret_cast<const Block*>(begin + bytes - sizeof block) ^ block;
    for (size_t i = 0; i < bytes - sizeof block; i += sizeof block) {
      other |= *reinterpret_cast<const Block*>(begin + i) ^ block;
    }
    uint64_t words[2];
    memcpy(words, &other, sizeof words);
    return (words[0] | words[1]) == 0;
  }
  if (bytes - sizeof(uint64_t) >= sizeof(uint64_t)) {
    return first_other(memory, value, bytes) == bytes;
  }
  uint64_t first, last;
  memcpy(&first, memory, sizeof first);
  memcpy(&last, begin + bytes - sizeof last, sizeof last);
  return first == value * kEachByte && last == value * kEachByte;
}

inline uint8_t* back_of(const Header& header) {
  return static_cast<uint8_t*>(header.user()) + header.bytes;
}

inline bool edges_intact(const Header& header) {
  return header.canary == header.expected_canary() &&
         filled(back_of(header), kBackByte, header.back());
}
// The same, but of a long back canary only the beginning: a whole one would cost more than the
// rest.
inline bool near_edges_intact(const Header& header) {
  return header.canary == header.expected_canary() &&
         filled(back_of(header), kBackByte, std::min(header.back(), kFewBytes));
}

}  // namespace pktmalloc::checked
