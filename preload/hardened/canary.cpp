// SPDX-License-Identifier: MIT
#include "preload/hardened/canary.h"

#include <algorithm>
#include <cstring>

#include "preload/base/random.h"
#include "sizeclass/congruence.h"

namespace pktmalloc::hardened {
namespace {

constexpr size_t kMostFiller = 64;

constinit uint64_t secret = 0;

// Of an address. No byte is zero: the end of a string, written one byte too far, has to show.
uint64_t hash(const void* p) {
  const uint64_t scattered = next_number(secret ^ reinterpret_cast<uintptr_t>(p));
  return (scattered ^ scattered >> 32) | 0x0101010101010101;
}

struct Layout {
  size_t filler;  // bytes that are filled
  uint64_t word;
};

// The upper half of the word hides how many bytes lie unused before it.
Layout layout(const void* p, size_t object_bytes, size_t bytes) {
  const uint64_t unused = object_bytes - kCanaryBytes - bytes;
  return {std::min<size_t>(unused, kMostFiller), hash(p) ^ unused << 32};
}

}  // namespace

void start_canaries() {
  secret = random_number();
  canaries = true;
  fast_bytes = 0;
}

void set_canary(void* p, size_t object_bytes, size_t bytes) {
  const Layout at = layout(p, object_bytes, bytes);
  auto* const begin = static_cast<unsigned char*>(p);
  memset(begin + bytes, static_cast<unsigned char>(at.word), at.filler);
  memcpy(begin + object_bytes - kCanaryBytes, &at.word, kCanaryBytes);
}

Canary read_canary(const void* p, size_t object_bytes) {
  const auto* const begin = static_cast<const unsigned char*>(p);
  const size_t most = object_bytes - kCanaryBytes;
  uint64_t word;
  memcpy(&word, begin + most, kCanaryBytes);
  const uint64_t unused = word ^ hash(p);
  if (unused << 32 != 0 || unused >> 32 > most) return {most, false, false, most};
  const size_t bytes = most - (unused >> 32);
  const Layout at = layout(p, object_bytes, bytes);
  const auto* const end = begin + bytes + at.filler;
  const auto* const first = std::find_if(begin + bytes, end, [&](unsigned char byte) {
    return byte != static_cast<unsigned char>(at.word);
  });
  return {bytes, first == end, true, static_cast<size_t>(first - begin)};
}

}  // namespace pktmalloc::hardened
