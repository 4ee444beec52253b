// SPDX-License-Identifier: MIT
#include "preload/hardened/canary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "preload/base/random.h"
#include "sizeclass/base/congruence.h"

namespace pktmalloc::hardened {
namespace {

constexpr size_t kMostFiller = 64;

constinit uint64_t secret = 0;

// Of an address. Every byte is above those of ASCII: no text shows as unchanged, nor its end, a
// zero.
uint64_t hash(const void* p) {
  const uint64_t scattered = next_number(secret ^ reinterpret_cast<uintptr_t>(p));
  return (scattered ^ scattered >> 32) | 0x8080808080808080;
}

// Of the unused bytes behind `bytes` so many are filled, with the pattern again and again.
size_t filled_bytes(size_t unused) { return std::min(unused, kMostFiller); }
uint64_t pattern(size_t bytes, uint64_t hash) {
  return std::rotr(hash, static_cast<int>(bytes % 8 * 8));
}

uint64_t word_at(const void* p, size_t offset) {
  uint64_t word;
  memcpy(&word, static_cast<const char*>(p) + offset, sizeof word);
  return word;
}

}  // namespace

void start_canaries() {
  secret = random_number();
  canaries = true;
  fast_bytes = 0;
}

void set_canary(void* p, size_t object_bytes, size_t bytes) {
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

Canary read_canary(const void* p, size_t object_bytes) {
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

}  // namespace pktmalloc::hardened
