// SPDX-License-Identifier: MIT
// Keys before and after the library's own, each of which sets itself again: libc runs the
// destructors up to four times. In the first round the thread still has its own magazines.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"
#include "random.h"
#include "resident.h"

enum { kKeys = 40, kThreads = 80 };

static pthread_key_t keys[kKeys];
static atomic_int runs;

struct Bag {
  int key, round;
  void* blocks[8];
};

static struct Bag* new_bag(int key, int round) {
  struct Bag* bag = malloc(sizeof *bag);
  CHECK(bag != NULL);
  bag->key = key;
  bag->round = round;
  for (size_t i = 0; i < 8; ++i) {
    const size_t bytes = 8 + i * i * 700;
    CHECK((bag->blocks[i] = malloc(bytes)) != NULL);
    write_pattern(bag->blocks[i], bytes, (uint64_t)key + i);
  }
  return bag;
}

static uint64_t threads_alive(void) {
  struct pktmalloc_statistics now;
  pktmalloc_get_statistics(&now, sizeof now);
  return now.threads_alive;
}

static void destroy(void* p) {
  struct Bag* bag = p;
  const int key = bag->key, round = bag->round;
  CHECK(round > 1 || threads_alive() == 2);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(has_pattern(bag->blocks[i], 8 + i * i * 700, (uint64_t)key + i));
    free(bag->blocks[i]);
  }
  free(bag);
  atomic_fetch_add(&runs, 1);
  // The last round's bag is lost on purpose: nobody is called any more.
  if (key % 3 == 0) CHECK(pthread_setspecific(keys[key], new_bag(key, round + 1)) == 0);
}

static void* run(void* unused) {
  (void)unused;
  for (int k = 0; k < kKeys; ++k) CHECK(pthread_setspecific(keys[k], new_bag(k, 1)) == 0);
  return NULL;
}

int main(void) {
  for (int k = 0; k < kKeys; ++k) CHECK(pthread_key_create(&keys[k], destroy) == 0);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CHECK(atomic_load(&runs) == kThreads * (kKeys + 3 * 14));
  return 0;
}
