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

// Where it does not become little, whoever started the program loses patience.
static inline void wait_for_little_memory(void (*meanwhile)(void)) {
  while (resident_mib() > 16) meanwhile();
}
