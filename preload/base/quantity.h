// SPDX-License-Identifier: MIT
// Quantity: a whole number with a unit, as options have it.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace pktmalloc {

struct Unit {
  std::string_view name;
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
inline bool read_quantity(const char*& text, std::span<const Unit> units, uint64_t least,
                          uint64_t most, uint64_t& out, const char* ends = ",") {
  uint64_t n = 0;
  const auto [behind, error] = std::from_chars(text, text + strlen(text), n);
  if (error != std::errc{}) return false;
  const std::string_view rest(behind), name = rest.substr(0, rest.find_first_of(ends));
  text = behind + name.size();
  for (const Unit& unit : units) {
    if (unit.name != name || n > most / unit.factor) continue;
    out = n * unit.factor;
    return out >= least;
  }
  return false;
}

}  // namespace pktmalloc
