// SPDX-License-Identifier: MIT
// A program with one thread is never given a second one unasked, however much memory waits; nor is
// one whose others have ended.
#include "peak.h"
#include "threads.h"

static void stays_single(void) {
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  for (int i = 0; i < 300; ++i) free(malloc(kPeakBytes));
  CHECK(threads_of_process() == 1);
}

static void* end_at_once(void* unused) { return unused; }

int main(void) {
  stays_single();
  pthread_t thread;
  start_threads(&thread, 1, end_at_once);
  join_threads(&thread, 1);
  stays_single();
  return 0;
}
