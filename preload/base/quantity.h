// SPDX-License-Identifier: MIT
// Quantity: a whole number with a unit, as options have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pktmalloc {

struct Unit {
  const char* name;
  uint64_t factor;
};

inline constexpr Unit kOnes[] = {{"", 1}};
inline constexpr Unit kPercents[] = {{"%", 1}};
inline constexpr Unit kTimes[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
inline constexpr Unit kBytes[] = {{"", 1},         {"K", 1 << 10},   {"KiB", 1 << 10},
                                  {"M", 1 << 20},  {"MiB", 1 << 20}, {"G", 1 << 30},
                                  {"GiB", 1 << 30}};

// A whole number followed by a unit, up to one of the characters of `ends` or the end of the text;
// false when it is anything else or out of range. Moves `text` past what it read.
template <size_t kCount>
bool read_quantity(const char*& text, const Unit (&units)[kCount], uint64_t least, uint64_t most,
                   uint64_t& out, const char* ends = ",") {
  uint64_t n = 0;
  const char* digits = text;
  for (; *text >= '0' && *text <= '9'; ++text) {
    n = n * 10 + static_cast<uint64_t>(*text - '0');
    if (n > most) return false;
  }
  if (text == digits) return false;
  const size_t length = strcspn(text, ends);
  for (const Unit& unit : units) {
    if (strlen(unit.name) != length || strncmp(unit.name, text, length) != 0) continue;
    text += length;
    if (n > most / unit.factor) return false;
    out = n * unit.factor;
    return out >= least;
  }
  return false;
}

template <size_t kCount>
bool parse_quantity(const char* text, const Unit (&units)[kCount], uint64_t least, uint64_t most,
                    uint64_t& out) {
  return read_quantity(text, units, least, most, out) && *text == '\0';
}

}  // namespace pktmalloc
