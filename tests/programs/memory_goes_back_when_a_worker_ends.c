// SPDX-License-Identifier: MIT
// The peak is a worker's, who ends; the main thread goes on with light work of another size.
#include <pthread.h>

#include "peak.h"

static void* worker(void* unused) {
  (void)unused;
  peak_part(0, kPeakObjects);
  CHECK(resident_mib() > 140);
  end_peak_part(0, kPeakObjects);
  return NULL;
}

static void light_work(void) {
  for (int i = 0; i < 100; ++i) {
    free(malloc(300));
    sleep_ms(1);
  }
}

int main(void) {
  free(malloc(300));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  wait_for_little_memory(light_work);
  return 0;
}
