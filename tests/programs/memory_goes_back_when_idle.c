// SPDX-License-Identifier: MIT
// Two threads, which both do nothing after the peak.
#include <pthread.h>

#include "peak.h"

static pthread_barrier_t barrier;

static void* second_half(void* unused) {
  (void)unused;
  peak_part(kPeakObjects / 2, kPeakObjects);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  end_peak_part(kPeakObjects / 2, kPeakObjects);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void idle(void) { sleep_ms(50); }

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, second_half, NULL) == 0);
  peak_part(0, kPeakObjects / 2);
  pthread_barrier_wait(&barrier);
  CHECK(resident_mib() > 140);
  pthread_barrier_wait(&barrier);
  end_peak_part(0, kPeakObjects / 2);
  pthread_barrier_wait(&barrier);
  wait_for_little_memory(idle);
  pthread_barrier_wait(&barrier);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
