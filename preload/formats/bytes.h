// SPDX-License-Identifier: MIT
// Bytes: formats a number of bytes for people, such as "12.3 MiB": in the largest unit that leaves
// a digit other than 0 before the point. Allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace pktmalloc {

struct Bytes {
  char text[24];
  explicit Bytes(uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    const uint64_t count = std::min(bytes, UINT64_MAX / 20);
    unsigned shift = 0, unit = 0;
    for (; count * 2 >> shift >= 2047 && unit + 1 < std::size(kUnits); ++unit) shift += 10;
    const uint64_t half = (uint64_t{1} << shift) / 2;
    const unsigned long long tenths = (count * 10 + half) >> shift, whole = (count + half) >> shift;
    if (unit == 0 || tenths >= 10000) {
      snprintf(text, sizeof text, "%llu %s", whole, kUnits[unit]);
    } else {
      snprintf(text, sizeof text, "%llu.%llu %s", tenths / 10, tenths % 10, kUnits[unit]);
    }
  }
};

// How far they are from a limit: "12.3 MiB left" or "1.0 GiB above it".
struct Distance {
  char text[40];
  Distance(uint64_t bytes, uint64_t limit) {
    const bool above = bytes > limit;
    snprintf(text, sizeof text, "%s %s", Bytes(above ? bytes - limit : limit - bytes).text,
             above ? "above it" : "left");
  }
};

}  // namespace pktmalloc
