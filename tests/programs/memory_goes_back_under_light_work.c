// SPDX-License-Identifier: MIT
// One thread; after the peak nothing but pairs of malloc and free, a thousand a second, which never
// leave the thread's magazines.
#include "peak.h"

static void light_work(void) {
  for (int i = 0; i < 100; ++i) {
    free(malloc(kPeakBytes));
    free(malloc(64));
    sleep_ms(1);
  }
}

int main(void) {
  peak_part(0, kPeakObjects);
  CHECK(resident_mib() > 140);
  end_peak_part(0, kPeakObjects);
  wait_for_little_memory(light_work);
  return 0;
}
