// SPDX-License-Identifier: MIT
// Signals interrupt the checks, in the midst of the program and while it ends, and their handler
// allocates. Run with PKTMALLOC_GUARD=10000. What is interrupted never is the heap itself: of that
// no handler may ask anything.
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

namespace {

constexpr size_t kGuarded = 10000;  // large enough to go through the quarantine's lock each time
constexpr int kMidway = 500, kAll = 2000;

void* large;
void* volatile kept;
volatile int signals = 0;
volatile bool armed = false;
volatile bool ending = false;

void allocate(size_t bytes) {
  void* volatile p = malloc(bytes);
  free(p);
}

// One shot: on a slow machine a timer that goes on would leave the program no time.
void set_alarm() {
  armed = true;
  const itimerval soon = {{0, 0}, {0, 30}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

void on_alarm(int) {
  signals = signals + 1;
  armed = false;
  allocate(kGuarded);
  if (malloc_usable_size(large) < 1000000) abort();
  if (!ending) return;
  allocate(20000);
  for (int i = 0; i < 32; ++i) kept = malloc(100);
  if (signals < kAll) set_alarm();
}

}  // namespace

int main() {
  constexpr int kObjects = 100000;
  static void* objects[kObjects];
  large = malloc(1000000);
  signal(SIGALRM, on_alarm);
  while (signals < kMidway) {
    if (!armed) set_alarm();
    allocate(kGuarded);
    if (malloc_usable_size(large) < 1000000) abort();
  }
  for (void*& object : objects) object = malloc(100);
  for (void* object : objects) free(object);
  ending = true;
  set_alarm();
}
