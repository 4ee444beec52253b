// SPDX-License-Identifier: MIT
// Run with PKTMALLOC_BACKGROUND=1 and a short interval. mlockall: what the system refuses to take
// back is not told as memory that will go, and the background thread sleeps until it is woken.
// Nothing is shown where the system lets nobody lock as much, or tells nobody what a thread does.
#include <dirent.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "interface.h"
#include "peak.h"

static int background;

static int read_system_call(char text[128]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", background);
  const int fd = open(path, O_RDONLY);
  const ssize_t bytes = fd < 0 ? -1 : read(fd, text, 127);
  if (fd >= 0) close(fd);
  text[bytes < 0 ? 0 : bytes] = 0;
  return bytes > 0;
}

// In futex(), whose fourth argument is the timeout.
static int sleeps_without_timeout(void) {
  char text[128];
  long call, timeout;
  return read_system_call(text) && sscanf(text, "%ld %*s %*s %*s %lx", &call, &timeout) == 2 &&
         call == SYS_futex && timeout == 0;
}

static void find_background_thread(void) {
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) {
    const int id = atoi(entry->d_name);
    if (id != 0 && id != getpid()) background = id;
  }
  closedir(tasks);
}

static uint64_t waiting(void) {
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics.waiting_bytes;
}

int main(void) {
  if (pktmalloc_version == NULL) return 0;
  const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &any) != 0) return 0;
  find_background_thread();
  CHECK(background != 0);
  char text[128];
  if (!read_system_call(text) || mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 0;
  peak_part(0, 40000);
  end_peak_part(0, 40000);
  while (waiting() > 0 || !sleeps_without_timeout()) sleep_ms(1);
  CHECK(resident_mib() > 50);
  CHECK(munlockall() == 0);
  malloc_trim(0);
  CHECK(resident_mib() < 16);
  return 0;
}
