// SPDX-License-Identifier: MIT
// The process's memory as the system sees it, and waiting for it to change.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static inline double resident_mib(void) {
  char text[128] = "";
  const int fd = open("/proc/self/statm", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return -1;
  close(fd);
  long all = 0, resident = 0;
  if (sscanf(text, "%ld %ld", &all, &resident) != 2) return -1;
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static inline void sleep_ms(long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}
