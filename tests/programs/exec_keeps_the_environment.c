// SPDX-License-Identifier: MIT
// The new image has the same variables and is served by the library again.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "interface.h"

int main(int argc, char** argv) {
  (void)argc;
  void* block = malloc(100);
  CHECK(pktmalloc_class_bytes(block) == 112);
  const char* step = getenv("STEP");
  const char* preload = getenv("LD_PRELOAD");
  if (step != NULL) {
    const char* before = getenv("PRELOAD_BEFORE");
    CHECK(strcmp(preload != NULL ? preload : "none", before) == 0);
    CHECK(strcmp(getenv("PKTMALLOC_AGE"), "2s") == 0);
    if (strcmp(step, "3") == 0) return 0;
  }
  const char next[] = {step == NULL ? '1' : (char)(*step + 1), '\0'};
  CHECK(setenv("STEP", next, 1) == 0);
  CHECK(setenv("PKTMALLOC_AGE", "2s", 1) == 0);
  CHECK(setenv("PRELOAD_BEFORE", preload != NULL ? preload : "none", 1) == 0);
  execv("/proc/self/exe", argv);
  return 1;
}
