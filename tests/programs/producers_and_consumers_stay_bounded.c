// SPDX-License-Identifier: MIT
// Packets go from two producers to two consumers through a ring; only what is on the way is live.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kRing = 4096, kPackets = 1000000 };

struct Ring {
  _Atomic(void*) slots[kRing];
};
static struct Ring rings[2];

static void* produce(void* ring) {
  for (size_t i = 0; i < kPackets; ++i) {
    const size_t bytes = i % 10 == 0 ? 9000 : 64 + i * 7 % 1437;
    char* packet = malloc(bytes);
    CHECK(packet != NULL);
    packet[0] = 1;
    packet[bytes - 1] = 1;
    _Atomic(void*)* slot = &((struct Ring*)ring)->slots[i % kRing];
    while (atomic_load_explicit(slot, memory_order_relaxed) != NULL) sched_yield();
    atomic_store_explicit(slot, packet, memory_order_release);
  }
  return NULL;
}

static void* consume(void* ring) {
  for (size_t i = 0; i < kPackets; ++i) {
    _Atomic(void*)* slot = &((struct Ring*)ring)->slots[i % kRing];
    char* packet;
    while ((packet = atomic_load_explicit(slot, memory_order_acquire)) == NULL) sched_yield();
    atomic_store_explicit(slot, NULL, memory_order_relaxed);
    CHECK(packet[0] == 1);
    free(packet);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, i < 2 ? produce : consume, &rings[i % 2]) == 0);
  }
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(resident_mib() < 100);
  return 0;
}
