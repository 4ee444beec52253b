// SPDX-License-Identifier: MIT
// A filter sends SIGSYS for some system calls, and the program's handler answers them, as a broker
// does: the program goes on, with several threads, over a peak and its end.
#include <pthread.h>
#include <signal.h>

#include "peak.h"
#include "sandbox.h"

static const int kAnswered[] = {SYS_prctl, SYS_getpriority, SYS_sched_getscheduler, SYS_madvise};

static void answer(int signal) { (void)signal; }

static void* wait_for_end(void* unused) {
  free(malloc(10));
  sleep_ms(100000);
  return unused;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {0};
  action.sa_handler = answer;
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  if (!filter_calls(kAnswered, sizeof kAnswered / sizeof *kAnswered, SECCOMP_RET_TRAP,
                    SECCOMP_RET_ALLOW)) {
    return 0;
  }
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  sleep_ms(100);
  for (int i = 0; i < 100; ++i) free(malloc(100));
  return 0;
}
