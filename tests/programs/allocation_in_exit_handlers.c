// SPDX-License-Identifier: MIT
// atexit handlers, destructors of the program and of a loaded library: all free what was allocated
// before and allocate anew. Checks end the program with status 1.
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"
#include "plugin.h"

enum { kObjects = 2000 };
static void* objects[kObjects];

static void churn(void) {
  for (size_t i = 0; i < kObjects; ++i) {
    CHECK(objects[i] == NULL || has_pattern(objects[i], i + 8, i));
    free(objects[i]);
    CHECK((objects[i] = malloc(i + 8)) != NULL);
    CHECK(pktmalloc_class_bytes(objects[i]) > 0);
    write_pattern(objects[i], i + 8, i);
  }
  void* large = malloc(4 << 20);
  CHECK(large != NULL);
  free(large);
}

__attribute__((destructor(101))) static void last(void) { churn(); }
__attribute__((destructor)) static void late(void) { churn(); }

int main(void) {
  load_plugin("churning", RTLD_NOW | RTLD_GLOBAL);
  for (int i = 0; i < 40; ++i) CHECK(atexit(churn) == 0);
  churn();
  return 0;
}
