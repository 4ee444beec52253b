// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_BACKGROUND=1: one thread, which does nothing at all after the peak.
#include "peak.h"

static void idle(void) { sleep_ms(50); }

int main(void) {
  peak_part(0, kPeakObjects);
  CHECK(resident_mib() > 140);
  end_peak_part(0, kPeakObjects);
  wait_for_little_memory(idle);
  return 0;
}
