// SPDX-License-Identifier: MIT
// A packet program's poller, pinned to one processor, real-time and of another nice value, is what
// starts the background thread. That one must run where the process may, as an ordinary thread.
// Nothing is shown where the system lets nobody do so, or without the library.
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "interface.h"
#include "peak.h"

static cpu_set_t all;
static int nice_value, may_be_nicer, may_be_real_time;
static int ours;

// The thread that is neither main's nor the calling one.
static int third_thread(void) {
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  int found = 0;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) {
    const int id = atoi(entry->d_name);
    if (id != 0 && id != getpid() && id != (int)syscall(SYS_gettid)) found = id;
  }
  closedir(tasks);
  return found;
}

static void* poll_packets(void* unused) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(setpriority(PRIO_PROCESS, 0, nice_value + 1) == 0);
  may_be_nicer = setpriority(PRIO_PROCESS, 0, nice_value) == 0;
  CHECK(setpriority(PRIO_PROCESS, 0, nice_value + 1) == 0);
  const struct sched_param priority = {1};
  may_be_real_time = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
  CHECK(third_thread() == 0);
  peak_part(0, 40000);
  ours = third_thread();
  return unused;
}

int main(void) {
  if (pktmalloc_version == NULL) return 0;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  nice_value = getpriority(PRIO_PROCESS, 0);
  pthread_t poller;
  CHECK(pthread_create(&poller, NULL, poll_packets, NULL) == 0);
  CHECK(pthread_join(poller, NULL) == 0);
  CHECK(ours != 0);
  cpu_set_t its;
  CHECK(sched_getaffinity(ours, sizeof its, &its) == 0);
  CHECK(CPU_EQUAL(&its, &all));
  CHECK(sched_getscheduler(ours) == SCHED_OTHER || !may_be_real_time);
  // The last it does for itself, if it may.
  while (may_be_nicer && getpriority(PRIO_PROCESS, (id_t)ours) != nice_value) sleep_ms(1);
  end_peak_part(0, 40000);
  return 0;
}
