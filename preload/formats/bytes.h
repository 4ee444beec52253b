// SPDX-License-Identifier: MIT
// Bytes: formats a number of bytes for people, such as "12.3 MiB": in the largest unit that leaves
// at least one digit before the point. Allocates nothing.
#pragma once

#include <cstdint>
#include <cstdio>

namespace pktmalloc {

struct Bytes {
  char text[24];
  explicit Bytes(uint64_t bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned unit = 0;
    uint64_t tenths = bytes * 10;
    if (bytes > UINT64_MAX / 10) tenths = UINT64_MAX;
    while (tenths >= 10240 && unit + 1 < sizeof kUnits / sizeof *kUnits) {
      tenths /= 1024;
      ++unit;
    }
    if (unit == 0) {
      snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
    } else {
      snprintf(text, sizeof text, "%llu.%llu %s", static_cast<unsigned long long>(tenths / 10),
               static_cast<unsigned long long>(tenths % 10), kUnits[unit]);
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
