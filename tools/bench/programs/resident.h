// SPDX-License-Identifier: MIT
// How much memory this process has in RAM, from the second field of /proc/self/statm (pages).
//
// C and C++. Reads with open and read into the stack, so that asking does not allocate. Kernels
// 6.2 to 6.16 answer from per-CPU counters and may be off by up to 128 KiB per CPU.
#ifndef TOOLS_BENCH_RESIDENT_H
#define TOOLS_BENCH_RESIDENT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Resident bytes; ends the program when they cannot be read.
static inline double resident_bytes(void) {
  char text[128];
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (length <= 0) {
    perror("/proc/self/statm");
    exit(1);
  }
  close(file);
  text[length] = '\0';
  char* pages_text = NULL;
  strtol(text, &pages_text, 10);
  long pages = strtol(pages_text, NULL, 10);
  return 1.0 * pages * sysconf(_SC_PAGESIZE);
}

#endif
