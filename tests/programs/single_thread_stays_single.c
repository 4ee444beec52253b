// SPDX-License-Identifier: MIT
// A program with one thread is never given a second one unasked, however much memory waits.
#include <dirent.h>

#include "peak.h"

int main(void) {
  peak_part(0, kPeakObjects);
  end_peak_part(0, kPeakObjects);
  for (int i = 0; i < 300; ++i) free(malloc(kPeakBytes));
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != NULL);
  int count = -2;  // "." and ".."
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  CHECK(count == 1);
  return 0;
}
