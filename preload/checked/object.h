// SPDX-License-Identifier: MIT
// Object: how the checked library dresses what the program asked for.
//
//     | pad | header, ends in the front canary | user bytes | back canary up to the end |
//     ^ raw: from the pool or the next allocator
//
// The pad is there only for alignments above the header's size, so that the user's bytes, not the
// raw ones, are aligned. The header carries a seal, a keyed sum of its fields and its address:
// what has no seal is no object. `freed_at` decides who frees: 0 while the object is live, changed
// once by exchange, so of two threads that free one object one is told.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/call.h"
#include "preload/checked/stacks.h"

namespace pktmalloc::checked {

inline constexpr uint8_t kBackByte = 0xCE;   // behind the user's bytes
inline constexpr uint8_t kFreedByte = 0xDF;  // user's bytes while they wait after free
inline constexpr size_t kLeastBack = 8;
inline constexpr size_t kMostBack = 0xFFFF;

// Differs between processes, so that no program's data looks like a header.
// Changed once, before the first object.
inline constinit uint64_t secret = 0x5F2B8C61D3A94E07;

struct alignas(16) Header {
  uint64_t bytes;  // as requested
  StackId allocated_at;
  std::atomic<StackId> freed_at;
  uint32_t sum;
  Family family;
  uint8_t alignment_code;  // 0: none was asked for; else 1 + its logarithm
  uint16_t back;           // bytes of the back canary
  uint64_t canary;

  void* user() const { return const_cast<Header*>(this) + 1; }
  size_t alignment() const { return alignment_code == 0 ? 0 : size_t{1} << (alignment_code - 1); }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(this); }

  uint32_t expected_sum() const {
    const uint64_t all = bytes ^ secret ^ (uint64_t{alignment_code} << 56) ^
                         (uint64_t{back} << 32) ^ (uint64_t{static_cast<uint8_t>(family)} << 48);
    return static_cast<uint32_t>((all ^ address() * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93 >>
                                 32) |
           1;
  }
  uint64_t expected_canary() const { return ~secret ^ address(); }
  void seal() {
    canary = expected_canary();
    std::atomic_thread_fence(std::memory_order_release);  // a sweep reads the sum first
    sum = expected_sum();
  }
  bool sealed() const { return sum == expected_sum(); }
};
static_assert(sizeof(Header) == 32 && alignof(std::max_align_t) <= 16);

inline Header* header_of(void* user) { return static_cast<Header*>(user) - 1; }
inline const Header* header_of(const void* user) { return static_cast<const Header*>(user) - 1; }

// From raw to user.
inline size_t front_bytes(size_t alignment) {
  return alignment > sizeof(Header) ? alignment : sizeof(Header);
}
inline void* raw_of(const Header& header) {
  return static_cast<char*>(header.user()) - front_bytes(header.alignment());
}

// Position of the first byte that is not `value`; `bytes` if all are.
inline size_t first_other(const void* memory, uint8_t value, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(memory);
  if (bytes == 0 || (*p == value && memcmp(p, p + 1, bytes - 1) == 0)) return bytes;
  size_t i = 0;
  while (p[i] == value) ++i;
  return i;
}

inline uint8_t* back_of(const Header& header) {
  return static_cast<uint8_t*>(header.user()) + header.bytes;
}

}  // namespace pktmalloc::checked
