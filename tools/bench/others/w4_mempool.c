// SPDX-License-Identifier: MIT
// W4 with DPDK's rte_mempool: the exchange of w4_exchange, objects of 64 bytes.
//
// `w4_mempool [THREADS [ROUNDS [COUNT]]]`: in every round every thread gets COUNT objects and puts
// them back in shuffled order. "ms" is the whole time of all threads, from the common start until
// the last one has ended. The threads are registered with the EAL, so that each has its cache of
// 512 objects before the common ring. The pool has room for all objects of all threads, and its
// memory is reserved and written when it is made, before time starts: no other contender has that.
// Needs neither root nor huge pages nor a network card.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../programs/resident.h"

enum {
  kObjectBytes = 64,
  kCacheObjects = RTE_MEMPOOL_CACHE_MAX_SIZE,  // 512; a cache holds at most half as many again
  kMebibytes = 1024,  // what the EAL may take, of pages as they are touched
};

struct Plan {
  struct rte_mempool* pool;
  pthread_barrier_t* start;
  size_t rounds, count;
  uint32_t* places;  // where the i-th object is stored
  void** objects;
  bool good;  // no object was handed out twice or failed to be
};

_Noreturn static void die(const char* what, int error) {
  fprintf(stderr, "w4_mempool: %s: %s\n", what, rte_strerror(error));
  exit(1);
}

static size_t argument(int argc, char** argv, int index, size_t default_value, size_t limit) {
  if (index >= argc) return default_value;
  char* end = NULL;
  long value = strtol(argv[index], &end, 10);
  if (*end == '\0' && value > 0 && (size_t)value < limit) return (size_t)value;
  fprintf(stderr, "usage: w4_mempool [THREADS [ROUNDS [COUNT]]], fewer than %d threads\n",
          RTE_MAX_LCORE);
  exit(2);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

// xorshift64*, of Marsaglia and Vigna.
static uint32_t random_below(uint64_t* state, uint32_t limit) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (uint32_t)((((*state * 0x2545F4914F6CDD1D) >> 32) * limit) >> 32);
}

static void shuffle(uint32_t* places, size_t count, uint64_t seed) {
  uint64_t state = seed * 2 + 1;
  for (size_t i = 0; i < count; ++i) places[i] = (uint32_t)i;
  for (size_t i = count - 1; i > 0; --i) {
    uint32_t other = random_below(&state, (uint32_t)(i + 1));
    uint32_t place = places[i];
    places[i] = places[other];
    places[other] = place;
  }
}

static bool exchange(struct Plan* plan) {
  for (size_t round = 0; round < plan->rounds; ++round) {
    for (size_t i = 0; i < plan->count; ++i)
      if (rte_mempool_get(plan->pool, &plan->objects[plan->places[i]]) != 0) return false;
    for (size_t i = 0; i < plan->count; ++i) rte_mempool_put(plan->pool, plan->objects[i]);
  }
  return true;
}

static void* run(void* argument) {
  struct Plan* plan = argument;
  bool registered = rte_thread_register() == 0;
  pthread_barrier_wait(plan->start);
  plan->good = registered && exchange(plan);
  return NULL;
}

// Whether no two of the objects that are handed out after the exchange are the same one.
static bool distinct(struct Plan* plan) {
  bool all = true;
  for (size_t i = 0; i < plan->count; ++i) {
    if (rte_mempool_get(plan->pool, &plan->objects[i]) != 0) return false;
    *(size_t*)plan->objects[i] = i;
  }
  for (size_t i = 0; i < plan->count; ++i) {
    all = all && *(size_t*)plan->objects[i] == i;
    rte_mempool_put(plan->pool, plan->objects[i]);
  }
  return all;
}

// The EAL ties the calling thread to one CPU, which the threads made later would inherit.
static void start_eal(void) {
  char lcore[16], memory[16];
  snprintf(lcore, sizeof lcore, "%d", sched_getcpu());
  snprintf(memory, sizeof memory, "%d", kMebibytes);
  char* arguments[] = {"w4_mempool",  "-l",          lcore,      "-m",
                       memory,        "--no-huge",   "--no-pci", "--no-telemetry",
                       "--no-shconf", "--log-level", "*:error"};
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (rte_eal_init(RTE_DIM(arguments), arguments) < 0) die("rte_eal_init", rte_errno);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

// Of the modes of the common ring this is one that DPDK's guide names for threads that are not
// alone on their CPU. A thread preempted inside the default one, ring_mp_mc, stalls all others:
// with twice as many threads as CPUs an exchange did not end within 100 s.
static struct rte_mempool* make_pool(size_t objects) {
  struct rte_mempool* pool = rte_mempool_create_empty("w4", (unsigned)objects, kObjectBytes,
                                                      kCacheObjects, 0, SOCKET_ID_ANY, 0);
  if (pool == NULL) die("rte_mempool_create_empty", rte_errno);
  int result = rte_mempool_set_ops_byname(pool, "ring_mt_hts", NULL);
  if (result < 0) die("rte_mempool_set_ops_byname", -result);
  result = rte_mempool_populate_default(pool);
  if (result < 0) die("rte_mempool_populate_default", -result);
  return pool;
}

int main(int argc, char** argv) {
  size_t threads = argument(argc, argv, 1, 1, RTE_MAX_LCORE);
  size_t rounds = argument(argc, argv, 2, 50, SIZE_MAX);
  size_t count = argument(argc, argv, 3, 100000, UINT32_MAX);

  start_eal();
  struct rte_mempool* pool = make_pool(threads * (count + 2 * kCacheObjects));
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
  struct Plan* plans = calloc(threads, sizeof *plans);
  pthread_t* running = calloc(threads, sizeof *running);
  for (size_t i = 0; i < threads; ++i) {
    plans[i] = (struct Plan){pool, &start, rounds, count, NULL, NULL, false};
    plans[i].places = calloc(count, sizeof *plans[i].places);
    plans[i].objects = calloc(count, sizeof *plans[i].objects);
    shuffle(plans[i].places, count, i);
    if (pthread_create(&running[i], NULL, run, &plans[i]) != 0) die("pthread_create", EAGAIN);
  }

  pthread_barrier_wait(&start);
  double begin = now_ms();
  for (size_t i = 0; i < threads; ++i) pthread_join(running[i], NULL);
  double ms = now_ms() - begin;

  bool good = distinct(&plans[0]);
  for (size_t i = 0; i < threads; ++i) good = good && plans[i].good;
  if (!good) {
    fprintf(stderr, "w4_mempool: an object was handed out twice or not at all\n");
    return 1;
  }
  printf("{\"command\": \"%s", argv[0]);
  for (int i = 1; i < argc; ++i) printf(" %s", argv[i]);
  printf("\", \"ms\": %.3f, \"rss_after_mib\": %.3f}\n", ms, resident_bytes() / (1024 * 1024));
  return 0;
}
