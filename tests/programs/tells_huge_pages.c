// SPDX-License-Identifier: MIT
// Holds as many packets as its argument says, all written, and prints how much of them lies in
// transparent huge pages and in those of the pool, in MiB; then frees them and prints how much
// memory a trim leaves, in MiB. Prints nothing without an argument.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resident.h"

enum { kBytes = 1500, kMost = 100000 };
static char* packets[kMost];

// The sum of a field of a file, in MiB.
static long sum(const char* path, const char* field) {
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  char line[512];
  long total = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, field, strlen(field)) == 0) total += atol(line + strlen(field));
  }
  fclose(file);
  return total / 1024;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1000;
  CHECK(count <= kMost);
  for (int i = 0; i < count; ++i) {
    CHECK((packets[i] = malloc(kBytes)) != NULL);
    memset(packets[i], i, kBytes);
  }
  const long transparent = sum("/proc/self/smaps", "AnonHugePages:");
  const long pool = sum("/proc/self/status", "HugetlbPages:");
  for (int i = 0; i < count; ++i) {
    CHECK(packets[i][kBytes - 1] == (char)i);
    free(packets[i]);
  }
  malloc_trim(0);
  if (argc > 1) printf("%ld %ld %.0f\n", transparent, pool, resident_mib());
  return 0;
}
