// SPDX-License-Identifier: MIT
// A timer that starts a thread at each tick (SIGEV_THREAD): libc waits for the ticks with a signal
// that it keeps for itself, blocked in a thread that allocates.
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

static int ticks;

static void tick(union sigval value) {
  (void)value;
  free(malloc(1000000));
  __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

int main(void) {
  for (int i = 0; i < 48 << 10; ++i) CHECK(malloc(1000) != NULL);  // so much needs ageing
  struct sigevent event = {.sigev_notify = SIGEV_THREAD};
  event.sigev_notify_function = tick;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct timespec pause = {0, 5000000};
  const struct itimerspec each = {pause, pause};
  CHECK(timer_settime(timer, 0, &each, NULL) == 0);
  for (int i = 0; i < 2000 && __atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < 20; ++i) {
    nanosleep(&pause, NULL);
  }
  CHECK(ticks >= 20);
  return 0;
}
