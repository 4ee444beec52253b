// SPDX-License-Identifier: MIT
// The peak of a packet program: 100,000 packets of 1500 bytes, written, then all freed.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kPeakObjects = 100000, kPeakBytes = 1500 };
static void* peak_objects[kPeakObjects];

static inline void peak_part(int from, int to) {
  for (int i = from; i < to; ++i) {
    CHECK((peak_objects[i] = malloc(kPeakBytes)) != NULL);
    memset(peak_objects[i], 1, kPeakBytes);
  }
}

static inline void end_peak_part(int from, int to) {
  for (int i = from; i < to; ++i) free(peak_objects[i]);
}

// Tells the memory that is still there if it does not become little in time.
static inline void expect_little_memory_within(double seconds, void (*meanwhile)(void)) {
  const double start = now_seconds();
  double resident = resident_mib();
  while (resident > 16 && now_seconds() < start + seconds) {
    meanwhile();
    resident = resident_mib();
  }
  if (resident > 16) dprintf(2, "%.1f MiB resident after %.1f s\n", resident, seconds);
  CHECK(resident <= 16);
}
