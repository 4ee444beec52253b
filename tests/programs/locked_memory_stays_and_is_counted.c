// SPDX-License-Identifier: MIT
// mlockall: the program works, memory is not given back while it is locked and not counted as if it
// were, and goes back once it is unlocked. Nothing is shown where the system lets nobody lock.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "interface.h"
#include "peak.h"

static struct pktmalloc_statistics now(void) {
  struct pktmalloc_statistics statistics;
  pktmalloc_get_statistics(&statistics, sizeof statistics);
  return statistics;
}

int main(void) {
  const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &any);
  peak_part(0, 20000);
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 0;
  const uint64_t purged = now().purged_bytes;
  peak_part(20000, 40000);
  end_peak_part(0, 40000);
  malloc_trim(0);
  CHECK(resident_mib() > 50);
  CHECK(now().purged_bytes == purged && now().committed_bytes > 50 << 20);
  peak_part(0, 40000);
  end_peak_part(0, 40000);
  CHECK(munlockall() == 0);
  malloc_trim(0);
  CHECK(resident_mib() < 16);
  CHECK(now().purged_bytes > purged + (50 << 20));
  return 0;
}
