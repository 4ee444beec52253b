// SPDX-License-Identifier: MIT
// Bytes: formats a number of bytes for people, such as "12.3 MiB": in the largest unit that leaves
// a digit other than 0 before the point. Allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace pktmalloc {

struct Bytes {
  char text[24];
  explicit Bytes(uint64_t bytes) {
    bytes = std::min(bytes, UINT64_MAX / 2);
    unsigned shift = 0;
    const auto in_unit = [&shift](uint64_t n) { return (n + (1ULL << shift >> 1)) >> shift; };
    while (in_unit(bytes) >= 1024) shift += 10;
    const uint64_t whole = bytes >> shift;
    const unsigned long long tenths = whole * 10 + in_unit((bytes - (whole << shift)) * 10);
    const char letter = " KMGTPE"[shift / 10];
    if (shift == 0) {
      snprintf(text, sizeof text, "%llu B", in_unit(bytes));
    } else if (tenths >= 10000) {
      snprintf(text, sizeof text, "%llu %ciB", in_unit(bytes), letter);
    } else {
      snprintf(text, sizeof text, "%llu.%llu %ciB", tenths / 10, tenths % 10, letter);
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
