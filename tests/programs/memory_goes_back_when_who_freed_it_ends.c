// SPDX-License-Identifier: MIT
// A thread frees what the main one allocated, and ends; the main thread sleeps.
#include <pthread.h>

#include "peak.h"

static void* free_all(void* unused) {
  (void)unused;
  end_peak_part(0, kPeakObjects);
  return NULL;
}

static void idle(void) { sleep_ms(50); }

int main(void) {
  peak_part(0, kPeakObjects);
  CHECK(resident_mib() > 140);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_all, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  wait_for_little_memory(idle);
  return 0;
}
