// SPDX-License-Identifier: MIT
// Functions whose objects are known: live at the peak of the process, at its end, in all, and
// temporary; peaks_test.cpp knows how many bytes. A number makes it that many times as many.
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

#define KNOWN __attribute__((noinline, noclone)) void

static void* kept[100000];
static int count;
static int times = 1;

static void keep(void* p) {
  CHECK(p != NULL);
  kept[count++] = p;
}

KNOWN others(int some) {
  void* all[5];
  for (int i = 0; i < some; ++i) CHECK((all[i] = malloc(48)) != NULL);
  while (some > 0) free(all[--some]);
}
// None of them is temporary, not even the last.
KNOWN free_down_to(int some) {
  others(5);
  while (count > some) free(kept[--count]);
}

KNOWN live_at_the_end(void) {
  for (int i = 0; i < 10 * times; ++i) keep(malloc(500));
}
KNOWN live_at_the_peak(void) {
  for (int i = 0; i < 1000 * times; ++i) keep(malloc(1000));
}
KNOWN makes_the_peak(void) {
  for (int i = 0; i < times; ++i) keep(malloc(200000));
}
KNOWN live_after_the_peak(void) {
  for (int i = 0; i < 300 * times; ++i) keep(malloc(2000));
}
KNOWN freed_at_once(void) {
  for (int i = 0; i < 2000 * times; ++i) free(malloc(100));
}
KNOWN freed_after_four(void) {
  for (int i = 0; i < 100 * times; ++i) {
    void* p = malloc(300);
    others(4);
    free(p);
  }
}
KNOWN freed_after_five(void) {
  for (int i = 0; i < 100 * times; ++i) {
    void* p = malloc(400);
    others(5);
    free(p);
  }
}
// In place where pooled.
KNOWN freed_when_grown(void) {
  for (int i = 0; i < 10 * times; ++i) {
    void* p = malloc(90);
    for (size_t bytes = 91; bytes <= 96; ++bytes) p = realloc(p, bytes);
    free(p);
  }
}
static pthread_barrier_t allocated, freed;
KNOWN freed_elsewhere(void) {
  for (int i = 0; i < 50 * times; ++i) {
    keep(malloc(700));
    pthread_barrier_wait(&allocated);
    pthread_barrier_wait(&freed);
  }
}
static void* free_for_another(void* unused) {
  for (int i = 0; i < 50 * times; ++i) {
    pthread_barrier_wait(&allocated);
    free(kept[--count]);
    pthread_barrier_wait(&freed);
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc > 1) times = atoi(argv[1]);
  CHECK(times > 0 && times <= 50);
  pthread_barrier_init(&allocated, NULL, 2);
  pthread_barrier_init(&freed, NULL, 2);
  live_at_the_end();
  const int at_the_end = count;
  live_at_the_peak();
  makes_the_peak();
  free_down_to(at_the_end);
  live_after_the_peak();
  free_down_to(at_the_end);
  freed_at_once();
  freed_after_four();
  freed_after_five();
  freed_when_grown();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_for_another, NULL) == 0);
  freed_elsewhere();
  pthread_join(thread, NULL);
  return 0;
}
