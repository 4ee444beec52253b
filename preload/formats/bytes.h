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
    unsigned shift = 0, unit = 0;
    unsigned long long half = 0, whole = bytes;
    for (; whole >= 1024; ++unit) {
      shift += 10;
      half = 1ULL << (shift - 1);
      whole = (bytes + half) >> shift;
    }
    const uint64_t rest = bytes - (bytes >> shift << shift);
    const unsigned long long tenths = (bytes >> shift) * 10 + ((rest * 10 + half) >> shift);
    const char letter = " KMGTPE"[unit];
    if (unit == 0) {
      snprintf(text, sizeof text, "%llu B", whole);
    } else if (tenths >= 10000) {
      snprintf(text, sizeof text, "%llu %ciB", whole, letter);
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
