// SPDX-License-Identifier: MIT
// The bursts of programs/burst.cpp with DPDK's rte_mempool: its bulk calls, by way of the thread's
// cache of 512 objects. One thread.
//
// `burst_mempool [SIZE [BURST [OBJECTS]]]`. Needs neither root nor huge pages nor a network card.
#define _GNU_SOURCE
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../programs/resident.h"

enum { kMostBurst = 256 };

_Noreturn static void die(const char* what, int error) {
  fprintf(stderr, "burst_mempool: %s: %s\n", what, rte_strerror(error));
  exit(1);
}

static size_t argument(int argc, char** argv, int index, size_t default_value, size_t most) {
  if (index >= argc) return default_value;
  char* end = NULL;
  long value = strtol(argv[index], &end, 10);
  if (*end == '\0' && value > 0 && (size_t)value <= most) return (size_t)value;
  fprintf(stderr, "usage: burst_mempool [SIZE [BURST [OBJECTS]]], bursts of up to %d\n",
          kMostBurst);
  exit(2);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  size_t size = argument(argc, argv, 1, 64, 1 << 16);
  size_t burst = argument(argc, argv, 2, 32, kMostBurst);
  size_t objects = argument(argc, argv, 3, 10000000, SIZE_MAX / 2);

  char lcore[16];
  snprintf(lcore, sizeof lcore, "%d", sched_getcpu());
  char* arguments[] = {"burst_mempool", "-l",          lcore,      "-m",
                       "256",           "--no-huge",   "--no-pci", "--no-telemetry",
                       "--no-shconf",   "--log-level", "*:error"};
  if (rte_eal_init(RTE_DIM(arguments), arguments) < 0) die("rte_eal_init", rte_errno);
  struct rte_mempool* pool =
      rte_mempool_create("burst", 4 * RTE_MEMPOOL_CACHE_MAX_SIZE, (unsigned)size,
                         RTE_MEMPOOL_CACHE_MAX_SIZE, 0, NULL, NULL, NULL, NULL, SOCKET_ID_ANY, 0);
  if (pool == NULL) die("rte_mempool_create", rte_errno);

  void* taken[kMostBurst];
  double begin = now_ms();
  for (size_t done = 0; done < objects; done += burst) {
    if (rte_mempool_get_bulk(pool, taken, (unsigned)burst) != 0) die("rte_mempool_get_bulk", 0);
    for (size_t i = 0; i < burst; ++i) *(char*)taken[i] = 1;
    asm volatile("" : : "r"(taken) : "memory");
    rte_mempool_put_bulk(pool, taken, (unsigned)burst);
  }
  double ms = now_ms() - begin;

  printf("{\"command\": \"%s", argv[0]);
  for (int i = 1; i < argc; ++i) printf(" %s", argv[i]);
  printf("\", \"ms\": %.3f, \"ns_per_object\": %.3f, \"rss_after_mib\": %.3f}\n", ms,
         ms * 1e6 / (double)objects, resident_bytes() / (1024 * 1024));
  return 0;
}
