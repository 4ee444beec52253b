// SPDX-License-Identifier: MIT
// A program with one thread is never given a second one unasked, however much memory waits.
#include "peak.h"
#include "threads.h"

int main(void) {
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  for (int i = 0; i < 300; ++i) free(malloc(kPeakBytes));
  CHECK(threads_of_process() == 1);
  return 0;
}
